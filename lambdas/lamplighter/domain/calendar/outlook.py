"""Which planned windows will not get their nodes or their money, as things stand now.

Applies the rules of a grant (grant.py) ahead of time to all pools in one pass, by opening and file order.
Its reasons hold no amount that changes every hour: a notice is sent again only when its reason changes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lamplighter.domain.calendar.occurrences import Code
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.occupancy import full
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money import spending
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.reasons.reason import Said, reason


class ForeseenRefusal(NamedTuple):
    """Why a planned window will be refused."""

    code: Code
    reason: Said


def refusals(
    planned: Iterable[Lease],
    granted: Iterable[Lease],
    terms: Mapping[str, Terms],
    budgets: Mapping[str, BudgetPeriod],
) -> dict[str, ForeseenRefusal]:
    """By lease: why it will be refused. A lease that will be refused takes neither nodes nor money."""
    there = defaultdict[str, list[Lease]](list)
    for lease in granted:
        there[lease.pool].append(lease)
    promised: list[Lease] = []
    found: dict[str, ForeseenRefusal] = {}
    for lease in sorted(planned, key=lambda one: (one.begins, one.order, one.id)):
        own = terms[lease.pool]
        no_room = full(lease, own.max_nodes, there[lease.pool])
        no_money = None if no_room else _too_dear(lease, own, budgets[lease.period], promised)
        if no_room:
            found[lease.id] = ForeseenRefusal(Code.POOL_FULL, no_room)
        elif no_money:
            found[lease.id] = ForeseenRefusal(Code.OVER_BUDGET, no_money)
        else:
            there[lease.pool].append(lease)
            promised.append(lease)
    return found


def _too_dear(lease: Lease, terms: Terms, budget: BudgetPeriod, promised: list[Lease]) -> Said | None:
    for limit in spending.purses(lease.owner, terms, budget, promised):
        if lease.hold > limit.left:
            return reason("calendar.too-dear", cost=str(lease.hold), budget=limit.whose, period=budget.period)
    return None
