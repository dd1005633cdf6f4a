"""An overdraft: when the money that a running lease is paid from is used up before the lease ends."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Overdraft:
    """When, and how, in words."""

    at: datetime
    why: str
