"""The look at an opening: whether a lease that was granted ahead is still paid for, and whether others' nodes run.

Its hold covers its own time. Nobody holds the minutes in which a pool closes, so leases that ran since the grant may
have cost more than their holds. A lease that has nodes is not looked at: the guard warns its people first.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from lamplighter.domain.capacity.evidence import Seen
from lamplighter.domain.granting import admission, spending
from lamplighter.domain.leases.lease import AT_ONCE, Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.schedules.of_leases import unopened
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.reasons.reason import Reason, reason


def ahead(leases: Sequence[Lease], now: datetime) -> list[Lease]:
    """The leases of a pool that were granted ahead, should open now and have no node yet."""
    return [
        lease
        for lease in leases
        if lease.in_force(now) and lease.run == open_command(lease).id and is_unopened(lease, leases, now)
    ]


def is_unopened(lease: Lease, leases: Sequence[Lease], now: datetime) -> bool:
    """Whether a granted lease has no node yet; `leases` are those of its pool.

    No run has ordered nodes for it, and it has not kept the nodes of a lease that ended since its opening.
    """
    return unopened(lease) and not any(
        other.ordered is not None and lease.opens <= other.closes <= now - AT_ONCE for other in leases
    )


def at_present(lease: Lease, terms: Terms) -> Lease:
    """The lease at the present types and price of its pool: a deploy may have changed them since its grant."""
    same_price = lease.price_per_hour in {None, terms.price_per_hour}
    if same_price and lease.instance_types in {(), terms.instance_types}:
        return lease
    return replace(
        lease,
        price_per_hour=terms.price_per_hour,
        instance_types=terms.instance_types,
        hold=terms.hold(lease.wanted, lease.opens, lease.closes),
    )


def refusal(
    lease: Lease, leases: Collection[Lease], terms: Terms, budget: BudgetPeriod, held: Money | None = None
) -> admission.Refusal | None:
    """Why a lease that was granted ahead does not open; None: it opens. `leases` are those of all pools.

    `held` is what is held for it, where that is not what it needs now.

    What is spent counts, and what is held for leases that opened or should have opened before. What is held for later
    leases does not count, else a later lease would take the money of an earlier one.
    """
    later = [other for other in leases if unopened(other) and other.granted and _order(other) > _order(lease)]
    for other in (lease if held is None else replace(lease, hold=held), *later):
        if other.period == budget.period:
            budget = budget.freeing(other.hold, other.owner)
    purses = spending.purses(lease.owner, terms, budget)
    lacking = admission.missing(0, 0, lease.hold, [purse.left for purse in purses])
    if lacking is None:
        return None
    return admission.refusal_for_money(lease, terms, budget, purses[lacking.budget])


def beside_others(leases: Sequence[Lease], seen: Seen, pool: str, now: datetime) -> Reason | None:
    """Why no lease opens on a watched pool now: nodes run or are ordered that no lease opened. None: one may open.

    A close orders a size, and no kind of capacity keeps certain nodes for others then. So the end of a lease would take
    theirs. Leases that are being closed still have their nodes.
    """
    leaving = {member.instance for member in seen.members if member.leaving}
    running = sum(instance.id not in leaving for instance in seen.alive)
    # Where pods bring the nodes, the size is only the most that may come.
    there = running if seen.dynamic else max(running, seen.size)
    opened = sum(
        lease.wanted for lease in leases if lease.unfinished(now) and not is_unopened(lease, leases, now)
    )
    others = there - opened
    return reason("lease.nodes-of-others", pool=pool, nodes=others) if others > 0 else None


def _order(lease: Lease) -> tuple[datetime, str]:
    return (lease.opens, lease.id)
