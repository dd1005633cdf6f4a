"""A budget period as its people read it: spent, held and still planned, by owner and by window.

Owns the sums; what is held and spent comes from the ledger, what will open from the calendar.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lamplighter.domain.calendar import outlook
from lamplighter.domain.calendar.outlook import ForeseenRefusal
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money

BY_PEOPLE = "(by people)"
"""The row of leases that no window asked for."""


class Row(NamedTuple):
    """What one owner or window has of a period."""

    name: str
    spent: Money
    held: Money
    planned: Money
    limit: Money | None = None

    @property
    def all(self) -> Money:
        """What it comes to if all that is held and planned is used."""
        return self.spent + self.held + self.planned

    def to_json(self, key: str) -> dict[str, object]:
        """As `cost --json` has it; `key` is owner or window."""
        parts = {"spent": self.spent, "held": self.held, "planned": self.planned}
        return {
            key: self.name,
            **{name: money.to_json() for name, money in parts.items()},
            **({"budget": self.limit.to_json()} if self.limit else {}),
        }


class Ahead(NamedTuple):
    """The windows still to open in the period: those that will get their money, and why others will not."""

    leases: list[Lease]
    refused: list[tuple[Lease, ForeseenRefusal]]

    def cost(self, currency: str) -> Money:
        """What those come to that will open."""
        return sum((lease.hold for lease in self.leases), Money.zero(currency))


def ahead(
    wanted: Iterable[Lease], known: Sequence[Lease], terms: Mapping[str, Terms], budget: BudgetPeriod
) -> Ahead:
    """Of the windows that the calendar has ahead: which open, as things stand now.

    What is granted, over or refused already is not ahead any more.
    """
    decided = {lease.id for lease in known if lease.state is not LeaseState.PLANNED}
    planned = [lease for lease in wanted if lease.id not in decided and lease.period == budget.period]
    granted = [lease for lease in known if lease.granted]
    refused = outlook.refusals(planned, granted, terms, {budget.period: budget})
    return Ahead(
        [lease for lease in planned if lease.id not in refused],
        [(lease, refused[lease.id]) for lease in planned if lease.id in refused],
    )


def owners(budget: BudgetPeriod, coming: Ahead, limits: Mapping[str, Money]) -> list[Row]:
    """By owner: everybody who has, will have, or may have a part."""
    currency = budget.held.currency
    names = {*budget.accounts, *limits, *(lease.owner for lease in coming.leases)}
    rows = []
    for name in names:
        account = budget.account(name)
        planned = _sum((lease.hold for lease in coming.leases if lease.owner == name), currency)
        rows.append(Row(name, account.spent, account.held, planned, limits.get(name)))
    return _dearest_first(rows)


def windows(known: Iterable[Lease], coming: Ahead, budget: BudgetPeriod) -> list[Row]:
    """By window: what its leases of the period came to, and will; leases of people are one row."""
    currency = budget.held.currency
    mine = [
        lease for lease in known if lease.period == budget.period and lease.state is not LeaseState.PLANNED
    ]
    names = {lease.window or BY_PEOPLE for lease in (*mine, *coming.leases)}
    rows = []
    for name in names:
        own = [lease for lease in mine if (lease.window or BY_PEOPLE) == name]
        closed = _sum((lease.cost for lease in own if lease.cost), currency)
        unsettled = [lease for lease in own if lease.granted or lease.state is LeaseState.CLOSING]
        overrun = _sum((lease.overrun.cost for lease in unsettled if lease.overrun), currency)
        held = _sum((lease.hold for lease in unsettled), currency)
        planned = _sum((lease.hold for lease in coming.leases if lease.window == name), currency)
        rows.append(Row(name, closed + overrun, held, planned))
    return _dearest_first([row for row in rows if row.all.amount])


def _sum(costs: Iterable[Money], currency: str) -> Money:
    return sum(costs, Money.zero(currency))


def _dearest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row.all.amount, row.name))
