"""The shape of what the ledger keeps about money: a budget period with its owners' accounts.

Owns names and encodings; when it is written, and on which condition, is changes.py's.
"""

from collections.abc import Mapping
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.money.money import Money


def as_item(budget: BudgetPeriod) -> items.Item:
    """A budget period as its item."""
    said: dict[str, Any] = {
        "period": budget.period,
        "held": budget.held.to_json(),
        "spent": budget.spent.to_json(),
        "version": budget.version,
        "overrun": budget.overrun.to_json() if budget.overrun else None,
        "unleased": budget.unleased.to_json() if budget.unleased else None,
        "owners": {
            owner: {"held": account.held.to_json(), "spent": account.spent.to_json()}
            for owner, account in budget.accounts.items()
        },
    }
    return items.item(items.LAB, items.BUDGET + budget.period, said)


def as_budget(period: str, currency: str, found: Mapping[str, Any] | None) -> BudgetPeriod:
    """A budget period from its item, or that of one in which nothing happened yet.

    One in which nothing is held or spent is in whatever currency is asked for.
    """
    if found is None:
        return BudgetPeriod(period, Money.zero(currency), Money.zero(currency))
    said: Mapping[str, Any] = items.values(found)
    beyond = {name: Money.from_json(said[name]) for name in ("overrun", "unleased") if said.get(name)}
    accounts = {
        owner: Account(Money.from_json(account["held"]), Money.from_json(account["spent"]))
        for owner, account in (said.get("owners") or {}).items()
    }
    held, spent = Money.from_json(said["held"]), Money.from_json(said["spent"])
    if held.currency != currency and not (held.amount or spent.amount):
        return BudgetPeriod(period, Money.zero(currency), Money.zero(currency), int(said["version"]))
    return BudgetPeriod(period, held, spent, int(said["version"]), accounts, **beyond)
