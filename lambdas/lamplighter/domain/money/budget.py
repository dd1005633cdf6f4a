"""A budget period as the ledger keeps it: what is held for granted leases and what was spent, by owner.

How long a period is and what a lease costs is money.py's; refusing is spending.py's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from lamplighter.domain.money.money import Money
from lamplighter.domain.slack.asked.person import who


@dataclass(frozen=True, slots=True)
class Account:
    """What one owner has of a period."""

    held: Money
    spent: Money

    @property
    def used(self) -> Money:
        """What may not be given away again."""
        return self.held + self.spent


@dataclass(frozen=True, slots=True)
class BudgetPeriod:
    """One period of a lab's budget. `version` moves with every write, so that two cannot cross."""

    period: str
    held: Money
    spent: Money
    version: int = 0
    accounts: Mapping[str, Account] = field(default_factory=dict)
    """By owner; what ran without a lease is nobody's."""
    overrun: Money | None = None
    """Of what is spent: for nodes that ran past the end of their lease."""
    unleased: Money | None = None
    """Of what is spent: for nodes that no lease justified."""

    @property
    def used(self) -> Money:
        """What may not be given away again."""
        return self.held + self.spent

    def account(self, owner: str) -> Account:
        """What an owner has of the period; nothing for one who never had a lease in it."""
        nothing = Money.zero(self.held.currency)
        return self.accounts.get(owner, Account(nothing, nothing))

    def of(self, owner: str) -> Account:
        """What an owner has of it by whatever names they have had: in Slack a name is changed at will."""
        nothing = Money.zero(self.held.currency)
        theirs = [account for name, account in self.accounts.items() if who(name) == who(owner)]
        return Account(
            sum((each.held for each in theirs), nothing), sum((each.spent for each in theirs), nothing)
        )

    def holding(self, more: Money, owner: str) -> Self:
        """With that much more set aside for an owner."""
        account = self.account(owner)
        return replace(
            self,
            held=self.held + more,
            accounts=self._with(owner, replace(account, held=account.held + more)),
        )

    def freeing(self, hold: Money, owner: str) -> Self:
        """With that hold given back."""
        account = self.account(owner)
        # A hold that a release without accounts wrote is in no account.
        held = max(account.held - hold, Money.zero(hold.currency))
        return replace(self, held=self.held - hold, accounts=self._with(owner, replace(account, held=held)))

    def paying(self, cost: Money, owner: str) -> Self:
        """With that much more spent on an owner's lease."""
        account = self.account(owner)
        return replace(
            self,
            spent=self.spent + cost,
            accounts=self._with(owner, replace(account, spent=account.spent + cost)),
        )

    def overrunning(self, cost: Money, owner: str) -> Self:
        """With that much more spent past the end of an owner's lease."""
        paid = self.paying(cost, owner)
        return replace(paid, overrun=(self.overrun or Money.zero(cost.currency)) + cost)

    def running_unleased(self, cost: Money) -> Self:
        """With that much more spent on what no lease justified."""
        return replace(
            self, spent=self.spent + cost, unleased=(self.unleased or Money.zero(cost.currency)) + cost
        )

    def _with(self, owner: str, account: Account) -> dict[str, Account]:
        others = {name: other for name, other in self.accounts.items() if name != owner}
        return {**others, owner: account} if account.held.amount or account.spent.amount else others
