"""Node time from AWS's records, and the charge for node time past or without a lease.

The close of a pool counts, and so does the guard where no close runs. Each second is counted once.
"""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application import metrics
from lamplighter.application.capacity.lives import nodes_lives
from lamplighter.application.leases.services import LOOKS, LeaseServices
from lamplighter.application.metrics import Metric
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.billing.charge import Charge, charge, counted_from, counted_to, grants
from lamplighter.domain.billing.metering import Metered, meter
from lamplighter.domain.capacity.evidence import Seen
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.errors import TryLater
from lamplighter.reasons.reason import Reason, reason


def metered(
    pool: str, leases: Sequence[Lease], since: datetime, until: datetime, lease_services: LeaseServices
) -> Metered:
    """The node time of [since, until), split among the leases."""
    lives = nodes_lives(lease_services.capacity, pool, lease_services.capacity.see(pool), until)
    return meter(lives, grants(leases), since, until)


def count_beyond(
    pool: str, until: datetime, lease_services: LeaseServices, who: str, seen: Seen | None = None
) -> None:
    """Count node time past or without a lease up to `until` as spent, in the period in which it ran."""
    terms = lease_services.terms(pool)
    for _ in range(LOOKS):
        try:
            _count(pool, until, terms, lease_services, who, seen or lease_services.capacity.see(pool))
        except Conflict:
            continue
        return
    raise TryLater(reason("capacity.counted-later", pool=pool))


def _count(  # noqa: PLR0917
    pool: str, until: datetime, terms: Terms, lease_services: LeaseServices, who: str, seen: Seen
) -> None:
    state, leases = lease_services.ledger.pool(pool), lease_services.ledger.leases(pool)
    until = counted_to(leases, until)
    # A count of which some parts are kept goes on to its own end.
    until = max(until, state.metering_until or until)
    since = counted_from(leases, state.metered_until, until)
    lives = nodes_lives(lease_services.capacity, pool, seen, until) if since < until else ()
    while since < until:
        end = state.metering_until or min(until, terms.period(since).ends)
        charged = charge(pool, leases, meter(lives, grants(leases), since, end), terms, end)
        if charged.all.time or end == until or state.metering_until:
            budget = lease_services.ledger.budget(terms.period(since).key, terms.budget.currency)
            lease_services.ledger.charge(
                charged, leases, pool=state, budget=budget, why=_why(charged, leases, lease_services, who)
            )
            if charged.unleased.time:
                unleased, lab = int(charged.unleased.seconds), lease_services.capacity.lab.name
                metrics.count(Metric.NODE_SECONDS_WITHOUT_LEASE, unleased, lab, pool=pool)
            state, leases = lease_services.ledger.pool(pool), lease_services.ledger.leases(pool)
        since = end


def _why(charged: Charge, leases: Sequence[Lease], lease_services: LeaseServices, who: str) -> Entry | None:
    if not charged.all.time:
        return None
    parts: list[Reason] = []
    if charged.unleased.time:
        parts.append(reason("capacity.ran-unleased", seconds=charged.unleased.seconds))
    replacing = {lease.id for lease in leases if lease.replaced or lease.taken}
    parts += [
        reason("capacity.ran-replaced", seconds=ran.seconds, lease=name)
        if name in replacing
        else reason("capacity.ran-past-end", seconds=ran.seconds, lease=name)
        for name, ran in charged.overrun.items()
    ]
    return Entry(
        at=lease_services.now(),
        pool=charged.pool,
        kind="metered",
        who=who,
        what=reason("capacity.counted", seconds=charged.all.seconds),
        why=reason("capacity.counts-as-spent", parts=tuple(parts), cost=str(charged.all.cost)),
        lease=next(iter(charged.overrun), None),
        details={"node_seconds": str(charged.all.seconds), "cost": str(charged.all.cost)},
    )
