"""What ran, from AWS's records, and the charge for what ran past or without a lease.

The close of a pool counts, and so does the guard where no close comes; each second is counted once.
"""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application import metrics
from lamplighter.application.capacity.capacity import PoolReading
from lamplighter.application.capacity.lives import nodes_lives
from lamplighter.application.leases.services import LOOKS, LeaseServices
from lamplighter.application.metrics import Metric
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.charge import Charge, charge, counted_from, counted_to, grants
from lamplighter.domain.money.metering import Metered, meter
from lamplighter.errors import TryLater


def metered(
    pool: str, leases: Sequence[Lease], since: datetime, until: datetime, lease_services: LeaseServices
) -> Metered:
    """What ran in [since, until), split among the leases."""
    lives = nodes_lives(lease_services.capacity, lease_services.capacity.see(pool), until)
    return meter(lives, grants(leases), since, until)


def count_beyond(
    pool: str, until: datetime, lease_services: LeaseServices, who: str, seen: PoolReading | None = None
) -> None:
    """Count as spent what ran past or without a lease up to `until`, in the period in which it ran."""
    terms = lease_services.terms(pool)
    for _ in range(LOOKS):
        try:
            _count(pool, until, terms, lease_services, who, seen or lease_services.capacity.see(pool))
        except Conflict:
            continue
        return
    raise TryLater(f"pool {pool} or its budget keeps changing; what ran without a lease is counted later")


def _count(  # noqa: PLR0917
    pool: str, until: datetime, terms: Terms, lease_services: LeaseServices, who: str, seen: PoolReading
) -> None:
    state, leases = lease_services.ledger.pool(pool), lease_services.ledger.leases(pool)
    until = counted_to(leases, until)
    since = counted_from(leases, state.metered_until, until)
    lives = nodes_lives(lease_services.capacity, seen, until) if since < until else ()
    while since < until:
        end = min(until, terms.period(since).ends)
        found = charge(pool, leases, meter(lives, grants(leases), since, end), terms, end)
        if found.all.time or end == until:
            budget = lease_services.ledger.budget(terms.period(since).key, terms.budget.currency)
            lease_services.ledger.charge(
                found, leases, pool=state, budget=budget, why=_why(found, leases, lease_services, who)
            )
            if found.unleased.time:
                unleased, lab = int(found.unleased.seconds), lease_services.capacity.lab.name
                metrics.count(Metric.NODE_SECONDS_WITHOUT_LEASE, unleased, lab, pool=pool)
            state, leases = lease_services.ledger.pool(pool), lease_services.ledger.leases(pool)
        since = end


def _why(found: Charge, leases: Sequence[Lease], lease_services: LeaseServices, who: str) -> Entry | None:
    if not found.all.time:
        return None
    parts = [f"{found.unleased.seconds} without a lease"] if found.unleased.time else []
    replacing = {lease.id for lease in leases if lease.replaced}
    parts += [
        f"{ran.seconds} past the end of {name}{' or by what was replaced for it' if name in replacing else ''}"
        for name, ran in found.overrun.items()
    ]
    return Entry(
        at=lease_services.now(),
        pool=found.pool,
        kind="metered",
        who=who,
        what=f"counted {found.all.seconds} node-seconds past or without a lease",
        why=f"{' and '.join(parts)}: they cost {found.all.cost} and count as spent",
        lease=next(iter(found.overrun), None),
        details={"node_seconds": str(found.all.seconds), "cost": str(found.all.cost)},
    )
