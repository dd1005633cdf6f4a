"""What an open pool can still give to a person who asks for nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.granting.free_times import FreeTime
from lamplighter.reasons.reason import Said


@dataclass(frozen=True, slots=True)
class Room:
    """The part of a request that can be granted: now, later or never."""

    nodes: int = 1
    """Those that can be added now, at most as many as requested."""
    never: Said | None = None
    """Why the whole request is never granted."""
    earliest: datetime | None = None
    """When the whole request would be granted."""
    approvable: bool = False
    """No role of the person allows it, but an approver may."""
    free: Sequence[FreeTime] | None = ()
    """When the whole request would be granted as a lease of its own, beside `earliest`; None: not known."""
    later: tuple[datetime, ...] = ()
    """The later ends that the lease which ends last can have."""
