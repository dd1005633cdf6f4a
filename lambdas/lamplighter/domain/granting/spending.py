"""What money is left for a lease: of the lab's budget, and of its owner's where the lab states one.

Owns the budgets of an owner and the words for their figures. Whether a lease is admitted is granting/admission.py's
rule, what a lease costs is terms.py's, what is held and spent is the ledger's.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, TypeVar

from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import who
from lamplighter.reasons.reason import Reason, Value, reason

Amount = TypeVar("Amount", int, Money)
"""`Money`; or a whole number of one small unit, where many windows are judged at once."""
_PER = {
    "day": reason("money.per.day"),
    "week": reason("money.per.week"),
    "month": reason("money.per.month"),
}


class BudgetLimit(NamedTuple):
    """One limit, and what is left of it."""

    limit: Money
    account: Account | BudgetPeriod
    whose: Reason
    """How a sentence names it: `the 120.00 USD for the month`."""
    promised: Money
    """The holds of planned windows that come first."""

    @property
    def left(self) -> Money:
        """What other leases may still have; below zero where the limit was lowered."""
        return self.limit - self.account.used - self.promised


def purses(
    owner: str, terms: Terms, budget: BudgetPeriod, promised: Iterable[Lease] = ()
) -> list[BudgetLimit]:
    """The lab's budget, then the owner's part where there is one. `promised` are the planned leases that come first."""
    planned = [lease for lease in promised if lease.period == budget.period]
    nothing = Money.zero(terms.budget.currency)
    whole = sum((lease.hold for lease in planned), nothing)
    found = [BudgetLimit(terms.budget, budget, named(str(terms.budget), terms.per), whole)]
    limit = parts(terms.owners).get(who(owner))
    if limit is not None:
        own = sum((lease.hold for lease in planned if who(lease.owner) == who(owner)), nothing)
        found.append(BudgetLimit(limit, budget.account(owner), named(str(limit), terms.per, owner), own))
    return found


def parts(owners: Mapping[str, Amount]) -> dict[str, Amount]:
    """The part of each person: the smallest of those that the lab states for their names."""
    smallest: dict[str, Amount] = {}
    for owner, part in owners.items():
        smallest[who(owner)] = min(part, smallest.get(who(owner), part))
    return smallest


def named(limit: str, per: str, owner: str | None = None) -> Reason:
    """How a sentence names a budget: `the 120.00 USD for the month`; with an owner, as that person's part."""
    if owner is None:
        return reason("money.budget", limit=limit, per=_PER[per])
    return reason("money.owners-budget", limit=limit, owner=owner, per=_PER[per])


def left(owner: str, terms: Terms, budget: BudgetPeriod) -> Money:
    """The money that an owner may still have in the period."""
    return min(purse.left for purse in purses(owner, terms, budget))


def figures(refusal: Reason, purse: BudgetLimit, ends: datetime) -> Reason:
    """A refusal for want of money, with what is held, spent and left of the budget, and until when."""
    values: dict[str, Value] = {
        "refusal": refusal,
        "held": str(purse.account.held),
        "spent": _spent(purse.account),
        "left": str(_at_least_nothing(purse.left)),
        "until": ends,
    }
    if purse.promised.amount:
        return reason("money.refused.planned", planned=str(purse.promised), **values)
    return reason("money.refused", **values)


def refusal_of_more(more: Money, purse: BudgetLimit, ends: datetime) -> Reason:
    """Why there is no money for so much more of a lease that runs."""
    values: dict[str, Value] = {
        "cost": str(more),
        "budget": purse.whose,
        "left": str(_at_least_nothing(purse.left)),
        "until": ends,
    }
    if purse.promised.amount:
        return reason("money.more-refused.planned", planned=str(purse.promised), **values)
    return reason("money.more-refused", **values)


def _spent(account: Account | BudgetPeriod) -> Reason:
    """The spent money, with the part past or without a lease where there is any."""
    if isinstance(account, BudgetPeriod):
        nothing = Money.zero(account.spent.currency)
        beyond = (account.overrun or nothing) + (account.unleased or nothing)
        if beyond.amount:
            return reason("money.spent.beyond", spent=str(account.spent), beyond=str(beyond))
    return reason("money.spent", spent=str(account.spent))


def _at_least_nothing(money: Money) -> Money:
    return max(money, Money.zero(money.currency))
