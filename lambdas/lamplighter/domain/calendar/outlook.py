"""Which planned windows will not get their nodes or their money, as things stand now.

The same rules as an admission (grant.py), asked ahead for all pools in one pass, by opening and file order.
Its words hold no amount that moves by the hour: what is said once is said again only when it changes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lamplighter.domain.calendar.occurrences import Code
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.occupancy import crowded_at
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money import spending
from lamplighter.domain.money.budget import BudgetPeriod


class Refusal(NamedTuple):
    """What stands in the way of a planned window."""

    code: Code
    reason: str


def refusals(
    planned: Iterable[Lease],
    granted: Iterable[Lease],
    terms: Mapping[str, Terms],
    budgets: Mapping[str, BudgetPeriod],
) -> dict[str, Refusal]:
    """By lease: why it will be refused. One that will be refused takes neither nodes nor money."""
    there = defaultdict[str, list[Lease]](list)
    for lease in granted:
        there[lease.pool].append(lease)
    promised: list[Lease] = []
    found: dict[str, Refusal] = {}
    for lease in sorted(planned, key=lambda one: (one.begins, one.order, one.id)):
        own = terms[lease.pool]
        full = _full(lease, own, there[lease.pool])
        dear = None if full else _too_dear(lease, own, budgets[lease.period], promised)
        if full:
            found[lease.id] = Refusal(Code.POOL_FULL, full)
        elif dear:
            found[lease.id] = Refusal(Code.OVER_BUDGET, dear)
        else:
            there[lease.pool].append(lease)
            promised.append(lease)
    return found


def _full(lease: Lease, terms: Terms, there: list[Lease]) -> str | None:
    at = crowded_at(there, lease.nodes, lease.opens, lease.closes, terms.max_nodes)
    if at is None:
        return None
    names = [f"{one.called()} ({one.nodes})" for one in there if one.opens <= at < one.closes]
    beside = f"{' and '.join(names)} and the " if names else "the "
    return (
        f"pool {terms.pool} is full at {terms.clock(at)}: {beside}{lease.nodes} asked for are more than "
        f"its {terms.max_nodes} nodes"
    )


def _too_dear(lease: Lease, terms: Terms, budget: BudgetPeriod, promised: list[Lease]) -> str | None:
    for purse in spending.purses(lease.owner, terms, budget, promised):
        if lease.hold > purse.left:
            return f"it would cost {lease.hold}, more than will be left of {purse.whose} ({budget.period})"
    return None
