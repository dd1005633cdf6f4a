"""What the ledger, the lab file and AWS's capacity tell of a pool, for a sweep and for its preview."""

from collections.abc import Iterable
from datetime import datetime

from lamplighter.application.capacity.services import CapacityServices
from lamplighter.data import prices
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.capacity.evidence import Seen
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.money import Money
from lamplighter.domain.schedules.of_leases import held_back


def known(
    capacity: CapacityServices,
    pool: str,
    seen: Seen,
    leases: tuple[Lease, ...],
    pauses: Iterable[Pause],
    *,
    now: datetime,
) -> PoolFacts:
    """The facts that need no further call. Whatever else a sweep reads is missing."""
    lab, currency = capacity.lab, capacity.lab.guard.budget.currency
    table = prices.of_region(lab.region, currency, fee=lab.pools[pool].has("fee"))
    return PoolFacts(
        pool=pool,
        now=now,
        enforcing=True,
        ours=lab.pools[pool].existing is None,
        max_nodes=capacity.max_nodes(pool, seen),
        leases=leases,
        closing_since=None,
        seen=seen,
        kubernetes_nodes=None,
        failsafe_wanted=(),
        failsafe_found=None,
        longest_lease=lab.guard.longest_lease,
        held_back=held_back(leases, pauses, now),
        instance_types=lab.pools[pool].types,
        on_interruption=lab.pools[pool].on_interruption or "replace" if lab.pools[pool].spot else "",
        prices={one.type: Money.of(table[one.type], currency) for one in seen.alive if one.type in table},
    )
