"""A budget period as the ledger keeps it: what is held for granted leases and what was spent, by owner.

money.py says how long a period is and what a lease costs. granting/admission.py refuses a lease without money.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import who


@dataclass(frozen=True, slots=True)
class Account:
    """The part of one owner in a period."""

    held: Money
    spent: Money

    @property
    def used(self) -> Money:
        """Held and spent together: no other lease may have this money."""
        return self.held + self.spent

    def __add__(self, other: Self) -> Self:
        return replace(self, held=self.held + other.held, spent=self.spent + other.spent)


class AccountPage(NamedTuple):
    """Accounts that the ledger keeps together, as they were read, and how often they were written."""

    version: int
    accounts: Mapping[str, Account]


@dataclass(frozen=True, slots=True)
class BudgetPeriod:
    """One period of a lab's budget. `version` grows with every write, so that of two writes at once one fails."""

    period: str
    held: Money
    spent: Money
    version: int = 0
    accounts: Mapping[str, Account] = field(default_factory=dict)
    """By owner, as last written. Node time without a lease has no owner."""
    overrun: Money | None = None
    """The part of `spent` for nodes that ran past the end of their lease."""
    unleased: Money | None = None
    """The part of `spent` for nodes that no lease justified."""
    pages: Mapping[int, AccountPage] = field(default_factory=dict, compare=False)
    """How the ledger keeps the accounts: page 0 together with the period, the others beside it."""

    @property
    def used(self) -> Money:
        """Held and spent together: no other lease may have this money."""
        return self.held + self.spent

    def account(self, owner: str) -> Account:
        """The account of an owner under all their names: in Slack a person may change their name at any time."""
        nothing = Money.zero(self.held.currency)
        accounts = [account for name, account in self.accounts.items() if who(name) == who(owner)]
        return sum(accounts, Account(nothing, nothing))

    def holding(self, more: Money, owner: str) -> Self:
        """The period with more money held for an owner."""
        account = self.account(owner)
        return replace(
            self,
            held=self.held + more,
            accounts=self._with(owner, replace(account, held=account.held + more)),
        )

    def freeing(self, hold: Money, owner: str) -> Self:
        """The period with a hold of an owner released."""
        account = self.account(owner)
        # An older release without accounts may have written the hold: then it is in no account.
        held = max(account.held - hold, Money.zero(hold.currency))
        return replace(self, held=self.held - hold, accounts=self._with(owner, replace(account, held=held)))

    def paying(self, cost: Money, owner: str) -> Self:
        """The period with more money spent on an owner's lease."""
        account = self.account(owner)
        return replace(
            self,
            spent=self.spent + cost,
            accounts=self._with(owner, replace(account, spent=account.spent + cost)),
        )

    def overrunning(self, cost: Money, owner: str) -> Self:
        """The period with more money spent past the end of an owner's lease."""
        paid = self.paying(cost, owner)
        return replace(paid, overrun=(self.overrun or Money.zero(cost.currency)) + cost)

    def running_unleased(self, cost: Money) -> Self:
        """The period with more money spent on nodes that no lease justified."""
        return replace(
            self, spent=self.spent + cost, unleased=(self.unleased or Money.zero(cost.currency)) + cost
        )

    def _with(self, owner: str, account: Account) -> dict[str, Account]:
        others = {name: other for name, other in self.accounts.items() if who(name) != who(owner)}
        return {**others, owner: account} if account.held.amount or account.spent.amount else others
