"""Whether money is left for a lease: of the lab's budget, and of its owner's where the lab states one.

Owns the rule and its words; what a lease costs is terms.py's, what is held and spent the ledger's.
"""

from collections.abc import Iterable
from typing import NamedTuple

from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.slack.asked.person import who


class BudgetLimit(NamedTuple):
    """One limit, and what is left of it."""

    limit: Money
    account: Account | BudgetPeriod
    whose: str
    """How a sentence names it: `the 120.00 USD for the month`."""
    promised: Money
    """Planned for windows that go first."""

    @property
    def left(self) -> Money:
        """What may still be given away; below nothing where the limit was lowered."""
        return self.limit - self.account.used - self.promised


def purses(
    owner: str, terms: Terms, budget: BudgetPeriod, promised: Iterable[Lease] = ()
) -> list[BudgetLimit]:
    """The lab's budget, then the owner's where it has one; `promised` are the planned leases that go first."""
    planned = [lease for lease in promised if lease.period == budget.period]
    nothing = Money.zero(terms.budget.currency)
    whole = sum((lease.hold for lease in planned), nothing)
    found = [BudgetLimit(terms.budget, budget, f"the {terms.budget} for the {terms.per}", whole)]
    limits = [part for name, part in terms.owners.items() if who(name) == who(owner)]
    if limits:
        limit = min(limits)
        own = sum((lease.hold for lease in planned if who(lease.owner) == who(owner)), nothing)
        whose = f"the {limit} that {owner} has for the {terms.per}"
        found.append(BudgetLimit(limit, budget.of(owner), whose, own))
    return found


def left(owner: str, terms: Terms, budget: BudgetPeriod) -> Money:
    """What an owner may still have of the period."""
    return min(purse.left for purse in purses(owner, terms, budget))


def refusal(lease: Lease, terms: Terms, budget: BudgetPeriod, promised: Iterable[Lease] = ()) -> str | None:
    """Why there is no money for a lease: what was asked, what is left of which budget, until when."""
    ends = terms.clock(terms.period(lease.opens).ends)
    for purse in purses(lease.owner, terms, budget, promised):
        if lease.hold <= purse.left:
            continue
        planned = f" and {purse.promised} is planned for windows" if purse.promised.amount else ""
        return (
            f"it would cost {lease.hold}; of {purse.whose} {purse.account.held} is held, "
            f"{purse.account.spent} is spent{_beyond(purse.account)}{planned}, "
            f"so {_at_least_nothing(purse.left)} is left until {ends}"
        )
    return None


def refusal_of_more(
    more: Money, lease: Lease, terms: Terms, budget: BudgetPeriod, promised: Iterable[Lease] = ()
) -> str | None:
    """Why there is no money for so much more of a lease that runs."""
    ends = terms.clock(terms.period(lease.opens).ends)
    for purse in purses(lease.owner, terms, budget, promised):
        if more > purse.left:
            planned = f", with {purse.promised} planned for windows," if purse.promised.amount else ""
            return (
                f"it would cost {more} more, and of {purse.whose} "
                f"{_at_least_nothing(purse.left)} is left{planned} until {ends}"
            )
    return None


def _beyond(account: Account | BudgetPeriod) -> str:
    """What of the spent money no lease answers for; said where there is any."""
    if not isinstance(account, BudgetPeriod):
        return ""
    nothing = Money.zero(account.spent.currency)
    beyond = (account.overrun or nothing) + (account.unleased or nothing)
    return f" ({beyond} of it past or without a lease)" if beyond.amount else ""


def _at_least_nothing(money: Money) -> Money:
    return max(money, Money.zero(money.currency))
