"""Whether a lease gets its nodes and its money: the one rule of every admission, and its words.

Granting (granting/grant.py), extending (granting/extension.py), the outlook (granting/outlook.py), the opening of a
lease granted ahead (granting/opening.py) and the simulation (planner/placement.py) each count in their own way what is
free. All of them decide here.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from lamplighter.domain.capacity.reservation import OUTSIDE
from lamplighter.domain.granting import spending
from lamplighter.domain.granting.spending import Amount
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.occupancy import crowded_at, taken_at
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.reasons.reason import Reason, Said, reason


class Lack(StrEnum):
    """What is missing. The values are the codes of a skipped window in `simulate`."""

    NODES = "pool-full"
    MONEY = "over-budget"
    HOURS = "outside-reservation"


class Missing(NamedTuple):
    """What a lease is refused for."""

    lack: Lack
    budget: int = 0
    """Of missing money: which of the given budgets is too small, counted from 0."""


class Refusal(NamedTuple):
    """Why a lease is refused."""

    lack: Lack
    reason: Reason
    """Without amounts that change every hour, so that a repeated refusal is recognized."""
    figures: Reason
    """The same with what is held, spent and left."""


def missing(nodes: int, free: int, cost: Amount, left: Iterable[Amount]) -> Missing | None:
    """What the lease lacks: first the free nodes of its pool, then the money `left` of each of its budgets.

    None: it is admitted. A cost that is equal to what is left is admitted, and so is a lease that costs nothing more.
    """
    if nodes > free:
        return Missing(Lack.NODES)
    for budget, amount in enumerate(left):
        if cost > amount and cost != cost - cost:
            return Missing(Lack.MONEY, budget)
    return None


def refusal(
    lease: Lease, terms: Terms, before: Sequence[Lease], budget: BudgetPeriod, planned: Iterable[Lease]
) -> Refusal | None:
    """Why a lease is refused beside the leases that come `before` it on its pool; None: it is admitted.

    `planned` are the windows of all pools that get their money first.
    """
    outside = terms.hours and terms.hours.refusal(lease.opens, lease.closes)
    if outside:
        return Refusal(Lack.HOURS, outside, outside)
    full_at = crowded_at(before, lease.nodes, lease.opens, lease.closes, terms.max_nodes)
    free = terms.max_nodes - taken_at(before, full_at or lease.opens)
    purses = spending.purses(lease.owner, terms, budget, planned)
    lacking = missing(lease.nodes, free, lease.hold, [purse.left for purse in purses])
    if lacking is None:
        return None
    if lacking.lack is Lack.NODES:
        full = _pool_full(lease, terms, before, full_at or lease.opens)
        return Refusal(lacking.lack, full, full)
    return refusal_for_money(lease, terms, budget, purses[lacking.budget])


def refusal_for_money(
    lease: Lease, terms: Terms, budget: BudgetPeriod, purse: spending.BudgetLimit
) -> Refusal:
    """The refusal of a lease whose hold is more than is left of a budget."""
    short = over_budget(str(lease.hold), purse.whose, budget.period)
    return Refusal(Lack.MONEY, short, spending.figures(short, purse, terms.period(lease.opens).ends))


def pool_full(  # noqa: PLR0917 -- the values of the text, in its order
    pool: str, at: datetime, leases: tuple[Reason, ...], nodes: int, taken: int, most: int
) -> Reason:
    """The words for a pool without enough free nodes at an instant; `leases` have the nodes that are taken."""
    if not leases:
        return reason("lease.too-many-nodes", nodes=nodes, pool=pool, most=most)
    return reason(
        "lease.pool-full", pool=pool, at=at, leases=leases, nodes=nodes, wanted=taken + nodes, most=most
    )


def with_nodes(lease: Reason, nodes: int) -> Reason:
    """How `pool_full` names a lease that has nodes."""
    return reason("lease.with-nodes", lease=lease, nodes=nodes)


def over_budget(cost: str, budget: Reason, period: str) -> Reason:
    """The words for a cost that is more than the rest of a budget."""
    return reason("money.over-budget", cost=cost, budget=budget, period=period)


def lack_of(refusal: Said | None) -> Lack:
    """What a kept refusal is about; one that an older release kept as a sentence counts as money."""
    code = refusal.code if isinstance(refusal, Reason) else ""
    if code in OUTSIDE:
        return Lack.HOURS
    return Lack.NODES if code in {"lease.pool-full", "lease.too-many-nodes"} else Lack.MONEY


def _pool_full(lease: Lease, terms: Terms, before: Sequence[Lease], at: datetime) -> Reason:
    there = [other for other in before if other.opens <= at < other.closes]
    names = tuple(with_nodes(other.called(), other.nodes) for other in there)
    return pool_full(terms.pool, at, names, lease.nodes, taken_at(before, at), terms.max_nodes)
