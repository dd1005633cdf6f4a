"""How long a pool takes until its GPUs are ready, and what follows from it for windows that must be ready by.

Owns the measured figure and its bounds, how early such a window may open, and when GPUs are expected. What
was measured stands in the receipts; which windows there are is calendar.py's.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from lamplighter.domain import zones

BEFORE_ANY = timedelta(minutes=10)
"""What a pool is said to take before it was ever measured: boot, joining, drivers and the GPU checks."""
SHORTEST, LONGEST = timedelta(minutes=5), timedelta(minutes=30)
LOOKED_AT = 20
"""So many of a pool's last leases count."""
UPPER = 9, 10
"""The slowest of them but one in ten..."""
MOST_TIMES_THE_MIDDLE = 2
"""... and no more than double the middle one: an hour without capacity is no warm-up."""
ENOUGH = 3
"""With fewer than this the stated figure holds, unless the pool was slower."""
WARM = timedelta(minutes=1)
"""Ready sooner than this: the nodes were there already, handed over by the lease before."""


class Stay(NamedTuple):
    """Nodes of a pool over [opening, closing), in seconds since 1970."""

    opening: int
    closing: int
    nodes: int


def measured(minutes: Iterable[object]) -> timedelta:
    """A pool's warm-up from the minutes that its last leases took, newest first; None where GPUs
    were never ready.
    """
    took = [float(each) for each in minutes if isinstance(each, int | float)]
    took = sorted([each for each in took if timedelta(minutes=each) >= WARM][:LOOKED_AT])
    if not took:
        return BEFORE_ANY
    part, of = UPPER
    upper = took[ceil(len(took) * part / of) - 1]
    middle = took[(len(took) - 1) // 2]
    found = timedelta(minutes=ceil(min(upper, MOST_TIMES_THE_MIDDLE * middle)))
    if len(took) < ENOUGH:
        found = max(found, BEFORE_ANY)
    return min(max(found, SHORTEST), LONGEST)


def lead(pool: str, warm_ups: Mapping[str, timedelta] | None) -> int:
    """By how many seconds a window of the pool opens early, to be ready by its start."""
    return int((warm_ups or {}).get(pool, BEFORE_ANY).total_seconds())


def note(ready_by: int, early: int, zone: str) -> str:
    """What a window that opens early says of it."""
    clock = f"{zones.instant(ready_by).astimezone(zones.zone(zone)):%H:%M}"
    return f"opens {early // 60} min early, so that GPUs are ready by {clock}"


def earliest(wished: int, begins: int, nodes: int, most: int, stays: Iterable[Stay]) -> int:
    """The first instant of [wished, begins] from which the pool has room until `begins`.

    That is `begins` where others have the room until then; whether there is room later is admission's.
    """
    near = [stay for stay in stays if stay.opening < begins and stay.closing > wished]
    opens = wished
    # Room shrinks where somebody opens: what is full there is full until enough of them have closed.
    for edge in sorted({wished, *(stay.opening for stay in near), *(stay.closing for stay in near)}):
        if not wished <= edge < begins:
            continue
        if sum(stay.nodes for stay in near if stay.opening <= edge < stay.closing) + nodes > most:
            opens = min((stay.closing for stay in near if stay.closing > edge), default=begins)
    return min(opens, begins)


def later_note(wished: int, opens: int, begins: int, zone: str) -> str:
    """What a window says that could not open as early as it wished."""
    where = zones.zone(zone)
    until = f"{zones.instant(opens).astimezone(where):%H:%M}"
    if opens >= begins:
        return f"opens at {until} and not {(begins - wished) // 60} min early: its pool has no room before"
    minutes = f"{(begins - opens) // 60} min early and not {(begins - wished) // 60}"
    return f"opens {minutes}: its pool has no room before {until}"


def expected(opens: datetime, ready_by: datetime | None, warm_up: timedelta, *, warm: bool) -> datetime:
    """When GPUs are expected of a lease that opens then: at once where its nodes are there already."""
    ready = opens if warm else opens + warm_up
    return ready if ready_by is None else max(ready, ready_by)


def handed_over(opening: int, nodes: int, stays: Sequence[Stay]) -> bool:
    """Whether so many nodes run up to the opening and are freed by it."""
    return sum(stay.nodes for stay in stays if stay.opening < opening == stay.closing) >= nodes
