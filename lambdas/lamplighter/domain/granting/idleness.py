"""How long a lease may be idle, and since when a pool is idle: no pod holds one of its GPUs, or none is busy.

A sweep sees one instant, so idleness needs observations without a long gap. A pool that a sweep could not observe is
not idle.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.pool import PoolState

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

LONGEST_GAP = timedelta(minutes=15)
"""Two sweeps may fail; after a longer gap it is not known whether a pod ran."""


def allowed(lease: Lease, lab: "Lab") -> timedelta | None:
    """How long this lease may be idle; None: until its end.

    A class may start late or only talk, so a window's lease ends only if the window sets a limit. People forget to
    close, so their leases have the guard's limit.
    """
    if lease.window is None:
        return lab.guard.idle_after or None
    own = next((window.idle_after for window in lab.windows if window.name == lease.window), None)
    return own or None


def idle_since(before: PoolState, now: datetime, *, held: bool) -> datetime | None:
    """Since when no GPU has been in use, from the earlier observations and the present one."""
    if held:
        return None
    looked = before.looked_at
    if before.idle_since is not None and looked is not None and now - looked <= LONGEST_GAP:
        return before.idle_since
    return now
