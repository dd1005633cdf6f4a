"""How long a lease may be idle, and since when a pool is: no pod holds a GPU of it.

A sweep sees an instant only, so idleness is a row of looks without a gap; what a sweep could not see is
never called idle.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.pool import PoolState

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

LONGEST_GAP = timedelta(minutes=15)
"""Two sweeps may fail; after a longer gap nobody knows what ran in it."""


def allowed(lease: Lease, lab: "Lab") -> timedelta | None:
    """How long this lease may be idle; None for as long as it lasts.

    A window's class may be late or talking: only a window that says so is ended. People forget.
    """
    if lease.window is None:
        return lab.guard.idle_after or None
    own = next((window.idle_after for window in lab.windows if window.name == lease.window), None)
    return own or None


def idle_since(before: PoolState, now: datetime, *, held: bool) -> datetime | None:
    """Since when no pod has held a GPU, by what was seen before and is seen now."""
    if held:
        return None
    looked = before.looked_at
    if before.idle_since is not None and looked is not None and now - looked <= LONGEST_GAP:
        return before.idle_since
    return now
