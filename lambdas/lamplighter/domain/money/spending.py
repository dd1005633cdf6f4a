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
from lamplighter.reasons.reason import Reason, Said, Value, reason

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
    found = [
        BudgetLimit(
            terms.budget, budget, reason("money.budget", limit=str(terms.budget), per=_PER[terms.per]), whole
        )
    ]
    limits = [part for name, part in terms.owners.items() if who(name) == who(owner)]
    if limits:
        limit = min(limits)
        own = sum((lease.hold for lease in planned if who(lease.owner) == who(owner)), nothing)
        whose = reason("money.owners-budget", limit=str(limit), owner=owner, per=_PER[terms.per])
        found.append(BudgetLimit(limit, budget.of(owner), whose, own))
    return found


def left(owner: str, terms: Terms, budget: BudgetPeriod) -> Money:
    """What an owner may still have of the period."""
    return min(purse.left for purse in purses(owner, terms, budget))


def refusal(lease: Lease, terms: Terms, budget: BudgetPeriod, promised: Iterable[Lease] = ()) -> Said | None:
    """Why there is no money for a lease: what was asked, what is left of which budget, until when."""
    ends = terms.period(lease.opens).ends
    for purse in purses(lease.owner, terms, budget, promised):
        if lease.hold <= purse.left:
            continue
        refused: dict[str, Value] = {
            "cost": str(lease.hold),
            "budget": purse.whose,
            "held": str(purse.account.held),
            "spent": _spent(purse.account),
            "left": str(_at_least_nothing(purse.left)),
            "until": ends,
        }
        if purse.promised.amount:
            return reason("money.refused.planned", planned=str(purse.promised), **refused)
        return reason("money.refused", **refused)
    return None


def refusal_of_more(
    more: Money, lease: Lease, terms: Terms, budget: BudgetPeriod, promised: Iterable[Lease] = ()
) -> Said | None:
    """Why there is no money for so much more of a lease that runs."""
    ends = terms.period(lease.opens).ends
    for purse in purses(lease.owner, terms, budget, promised):
        if more > purse.left:
            refused: dict[str, Value] = {
                "cost": str(more),
                "budget": purse.whose,
                "left": str(_at_least_nothing(purse.left)),
                "until": ends,
            }
            if purse.promised.amount:
                return reason("money.more-refused.planned", planned=str(purse.promised), **refused)
            return reason("money.more-refused", **refused)
    return None


def _spent(account: Account | BudgetPeriod) -> Reason:
    """What is spent; of it what no lease answers for, where there is any."""
    if isinstance(account, BudgetPeriod):
        nothing = Money.zero(account.spent.currency)
        beyond = (account.overrun or nothing) + (account.unleased or nothing)
        if beyond.amount:
            return reason("money.spent.beyond", spent=str(account.spent), beyond=str(beyond))
    return reason("money.spent", spent=str(account.spent))


def _at_least_nothing(money: Money) -> Money:
    return max(money, Money.zero(money.currency))
