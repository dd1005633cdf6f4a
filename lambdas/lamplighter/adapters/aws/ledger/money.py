"""The item of a budget period, with the accounts of its owners.

This file has the names and encodings. changes.py decides when it is written, and on which condition.
"""

from collections.abc import Mapping
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.money.money import Money


def as_item(budget: BudgetPeriod) -> items.Item:
    """A budget period as its item."""
    attributes: dict[str, Any] = {
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
    return items.item(items.LAB, items.BUDGET + budget.period, attributes)


def as_budget(period: str, currency: str, item: Mapping[str, Any] | None) -> BudgetPeriod:
    """A budget period from its item; without an item, a period with nothing held or spent.

    If nothing is held or spent, the period takes the given currency.
    """
    if item is None:
        return BudgetPeriod(period, Money.zero(currency), Money.zero(currency))
    attributes: Mapping[str, Any] = items.values(item)
    beyond = {
        name: Money.from_json(attributes[name]) for name in ("overrun", "unleased") if attributes.get(name)
    }
    accounts = {
        owner: Account(Money.from_json(account["held"]), Money.from_json(account["spent"]))
        for owner, account in (attributes.get("owners") or {}).items()
    }
    held, spent = Money.from_json(attributes["held"]), Money.from_json(attributes["spent"])
    if held.currency != currency and not (held.amount or spent.amount):
        return BudgetPeriod(period, Money.zero(currency), Money.zero(currency), int(attributes["version"]))
    return BudgetPeriod(period, held, spent, int(attributes["version"]), accounts, **beyond)
