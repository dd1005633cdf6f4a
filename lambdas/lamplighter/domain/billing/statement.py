"""A budget period as people read it: spent, held and planned money, by owner and by window.

Computes the sums. Held and spent money comes from the ledger, planned windows from the calendar.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lamplighter.domain.granting import outlook, spending
from lamplighter.domain.granting.admission import Refusal
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import who

BY_PEOPLE = "(by people)"
"""The row of leases that no window asked for."""


class Row(NamedTuple):
    """The part of one owner or window in a period."""

    name: str
    spent: Money
    held: Money
    planned: Money
    limit: Money | None = None

    @property
    def all(self) -> Money:
        """The sum if all held and planned money is spent."""
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
    """The windows that are still to open in the period: those that will be admitted, and the others with the reason."""

    leases: list[Lease]
    refused: list[tuple[Lease, Refusal]]

    def cost(self, currency: str) -> Money:
        """The cost of the windows that will be admitted."""
        return sum((lease.hold for lease in self.leases), Money.zero(currency))


def ahead(
    wanted: Iterable[Lease], known: Sequence[Lease], terms: Mapping[str, Terms], budget: BudgetPeriod
) -> Ahead:
    """Which windows of the calendar will be admitted, as things stand now.

    Windows that are granted, over or refused are left out.
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
    """A row for each person with an account, a planned window or a limit, under the name in the ledger."""
    currency, parts = budget.held.currency, spending.parts(limits)
    names = {
        who(name): name for name in (*limits, *(lease.owner for lease in coming.leases), *budget.accounts)
    }
    rows = []
    for person, name in names.items():
        account = budget.account(name)
        planned = _sum((lease.hold for lease in coming.leases if who(lease.owner) == person), currency)
        rows.append(Row(name, account.spent, account.held, planned, parts.get(person)))
    return _dearest_first(rows)


def windows(known: Iterable[Lease], coming: Ahead, budget: BudgetPeriod) -> list[Row]:
    """A row for each window with its leases of the period; the leases of people are one row."""
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
