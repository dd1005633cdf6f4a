"""How long a pool takes until its GPUs are ready, and when a window opens to be ready by its start.

Owns the measured time, its bounds, and when GPUs are expected. The receipts keep the measurements. early_opening.py
decides how early a window may open beside others.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil

from lamplighter.domain.leases.lease import Lease, LeaseState

BEFORE_ANY = timedelta(minutes=10)
"""The stated time before any measurement: boot, joining, drivers and the GPU checks."""
SHORTEST, LONGEST = timedelta(minutes=5), timedelta(minutes=30)
READ = 40
"""The number of receipts to read: some are of leases whose nodes were running already."""
LOOKED_AT = 20
"""The number of a pool's last leases that count."""
UPPER = 9, 10
"""The 90th percentile of them..."""
MOST_TIMES_THE_MIDDLE = 2
"""... but at most double the median: an hour without capacity is no warm-up."""
ENOUGH = 3
"""With fewer measurements the stated time applies, unless the pool was slower."""
WARM = timedelta(minutes=2)
"""GPUs that are ready sooner were handed over by the lease before."""


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
    """How many seconds a window of the pool opens early, to be ready by its start."""
    return int((warm_ups or {}).get(pool, BEFORE_ANY).total_seconds())


def gpus_expected(lease: Lease, leases: Sequence[Lease], taking: timedelta) -> datetime | None:
    """When the GPUs of a lease are ready or expected; None for a lease that gets none.

    `leases` are those of its pool, `taking` is its warm-up. Nodes that an earlier lease hands over are ready already.
    """
    if lease.ready is not None:
        return lease.ready
    if lease.refusal is not None or not (lease.granted or lease.state is LeaseState.PLANNED):
        return None
    given = (
        other.nodes
        for other in leases
        if other.id != lease.id and other.opens < lease.opens == other.closes and _had_nodes(other)
    )
    ready = lease.opens if sum(given) >= lease.nodes else lease.opens + taking
    return max(ready, lease.begins)


def _had_nodes(lease: Lease) -> bool:
    return lease.refusal is None and lease.state is not LeaseState.REFUSED
