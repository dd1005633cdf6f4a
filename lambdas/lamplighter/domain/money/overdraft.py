"""An overdraft: when the money that a running lease is paid from is used up before the lease ends."""

from dataclasses import dataclass
from datetime import datetime

from lamplighter.reasons.reason import Said


@dataclass(frozen=True, slots=True)
class Overdraft:
    """When, and why."""

    at: datetime
    why: Said
