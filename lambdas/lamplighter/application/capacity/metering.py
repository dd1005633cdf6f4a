"""What ran, from AWS's records, and the charge for what ran past or without a lease.

The close of a pool counts, and so does the guard where no close comes; each second is counted once.
"""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application.capacity.capacity import Capacity, Seen
from lamplighter.application.leases.desk import LOOKS, Desk
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.charge import Charge, charge, counted_from, counted_to, grants
from lamplighter.domain.money.metering import Metered, Run, meter, runs
from lamplighter.errors import TryLater

ACTIVITY_PAGES = 10


def nodes_lives(capacity: Capacity, seen: Seen, now: datetime) -> tuple[Run, ...]:
    """Every node's life, as far as Auto Scaling and EC2 remember."""
    activities = capacity.autoscaling.activities(seen.group.name, ACTIVITY_PAGES) if seen.group else ()
    return runs(activities, seen.instances, now)


def metered(pool: str, leases: Sequence[Lease], since: datetime, until: datetime, desk: Desk) -> Metered:
    """What ran in [since, until), split among the leases."""
    lives = nodes_lives(desk.capacity, desk.capacity.see(pool), until)
    return meter(lives, grants(leases), since, until)


def count_beyond(pool: str, until: datetime, desk: Desk, who: str, seen: Seen | None = None) -> None:
    """Count as spent what ran past or without a lease up to `until`, in the period in which it ran."""
    terms = desk.terms(pool)
    for _ in range(LOOKS):
        try:
            _count(pool, until, terms, desk, who, seen or desk.capacity.see(pool))
        except Conflict:
            continue
        return
    raise TryLater(f"pool {pool} or its budget keeps changing; what ran without a lease is counted later")


def _count(pool: str, until: datetime, terms: Terms, desk: Desk, who: str, seen: Seen) -> None:  # noqa: PLR0917
    state, leases = desk.ledger.pool(pool), desk.ledger.leases(pool)
    until = counted_to(leases, until)
    since = counted_from(leases, state.metered_until, until)
    lives = nodes_lives(desk.capacity, seen, until) if since < until else ()
    while since < until:
        end = min(until, terms.period(since).ends)
        found = charge(pool, leases, meter(lives, grants(leases), since, end), terms, end)
        if found.all.time or end == until:
            budget = desk.ledger.budget(terms.period(since).key, terms.budget.currency)
            desk.ledger.charge(found, leases, pool=state, budget=budget, why=_why(found, leases, desk, who))
            state, leases = desk.ledger.pool(pool), desk.ledger.leases(pool)
        since = end


def _why(found: Charge, leases: Sequence[Lease], desk: Desk, who: str) -> Entry | None:
    if not found.all.time:
        return None
    parts = [f"{found.unleased.seconds} without a lease"] if found.unleased.time else []
    replacing = {lease.id for lease in leases if lease.replaced}
    parts += [
        f"{ran.seconds} past the end of {name}{' or by what was replaced for it' if name in replacing else ''}"
        for name, ran in found.overrun.items()
    ]
    return Entry(
        at=desk.now(),
        pool=found.pool,
        kind="metered",
        who=who,
        what=f"counted {found.all.seconds} node-seconds past or without a lease",
        why=f"{' and '.join(parts)}: they cost {found.all.cost} and count as spent",
        lease=next(iter(found.overrun), None),
        details={"node_seconds": str(found.all.seconds), "cost": str(found.all.cost)},
    )
