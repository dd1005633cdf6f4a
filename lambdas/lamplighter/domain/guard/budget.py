"""A budget that running leases will pass: when, and which of them end for it. The guard warns their people first.

Holds keep admitted leases within the budget. Leases pass it only where something else was spent, or the budget was
lowered, meanwhile. The rule counts the nodes that really run, not the holds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from lamplighter.domain.granting.spending import purses
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import NOTICE, PoolFacts
from lamplighter.domain.guard.leases import warned_first
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.domain.people.person import who
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.domain.leases.terms import Terms
    from lamplighter.domain.money.budget import BudgetPeriod

SWEEP_EVERY = timedelta(minutes=5)
"""An instant before the next sweep counts as now."""
STILL_TOLD = 2 * NOTICE
"""A warning older than that was about another instant."""


@dataclass(frozen=True, slots=True)
class Running:
    """A lease that is not settled yet, and what its nodes have cost so far."""

    lease: Lease
    so_far: Money
    per_second: Money
    """What its running nodes cost in a second, each at the price of its own type."""

    def by(self, at: datetime, now: datetime) -> Money:
        """What it will have cost at an instant, if its nodes run to its end."""
        lasting = max(min(at, self.lease.closes) - now, timedelta())
        seconds = Fraction(lasting // timedelta(microseconds=1), 1_000_000)
        return self.so_far + Money(seconds * self.per_second.amount, self.so_far.currency)


def covered(leases: Iterable[Lease], terms: "Terms", budget: "BudgetPeriod") -> bool:
    """Whether holds and spending are within the budget: then no running lease can pass it."""
    owners = {lease.owner for lease in leases if lease.period == budget.period}
    nothing = Money.zero(terms.budget.currency)
    return all(purse.left >= nothing for owner in owners for purse in purses(owner, terms, budget))


def overdrafts(
    running: Sequence[Running], terms: "Terms", budget: "BudgetPeriod", now: datetime
) -> dict[str, Overdraft]:
    """By lease in force: when it and the others will have used up the lab's budget, or their owner's part."""
    found: dict[str, Overdraft] = {}
    for one in running:
        if not one.lease.in_force(now):
            continue
        for purse in purses(one.lease.owner, terms, budget):
            whole = purse.account is budget
            sharing = [other for other in running if whole or who(other.lease.owner) == who(one.lease.owner)]
            at = _reached(purse.limit - purse.account.spent, sharing, now)
            if (
                at is None
                or at >= one.lease.closes
                or (one.lease.id in found and found[one.lease.id].at <= at)
            ):
                continue
            so_far = sum((other.so_far for other in sharing), Money.zero(purse.limit.currency))
            used_up = reason(
                "guard.budget-used-up",
                budget=purse.whose,
                at=max(at, now),
                spent=str(purse.account.spent),
                more=str(so_far),
            )
            found[one.lease.id] = Overdraft(at, used_up)
    return found


def reached(facts: PoolFacts) -> Iterator[Breach]:
    """Rule: where the budget will be used up, warn a lease a quarter of an hour ahead, and close it then."""
    for lease in facts.leases:
        overdraft = facts.overdrafts.get(lease.id)
        if overdraft is None or not lease.in_force(facts.now):
            continue
        since = facts.now - STILL_TOLD
        warned = facts.last_reported(Rule.BUDGET_REACHED, GuardAction.WARN, lease.id)
        ahead = NOTICE + SWEEP_EVERY if warned is None or warned < since else SWEEP_EVERY
        if overdraft.at <= facts.now + ahead:
            yield from warned_first(facts, Rule.BUDGET_REACHED, lease, overdraft.why, since=since)


def _reached(limit: Money, running: Sequence[Running], now: datetime) -> datetime | None:
    """The first instant at which these leases will have cost more than the limit; None where they end before."""
    edges = sorted({max(one.lease.closes, now) for one in running})
    if _cost(running, now, now) > limit:
        return now
    since = now
    for edge in edges:
        before, after = _cost(running, since, now), _cost(running, edge, now)
        if after > limit:
            share = (limit - before).amount / (after - before).amount
            return since + timedelta(seconds=int((edge - since).total_seconds() * share))
        since = edge
    return None


def _cost(running: Iterable[Running], at: datetime, now: datetime) -> Money:
    costs: list[Money] = [one.by(at, now) for one in running]
    return sum(costs[1:], costs[0])
