"""The items of a budget period: its own, with the accounts of its first owners, and pages with those of further owners.

This file has the names and encodings. changes.py decides when they are written, and on which condition.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.domain.money.budget import Account, AccountPage, BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import who

MOST_ACCOUNTS = 200
"""Accounts on a page. One is half a KB at most, and an item 400 KB
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html)."""


def as_items(budget: BudgetPeriod) -> Iterator[tuple[items.Item, int]]:
    """The period's item and the pages that changed, each with the version that it had when it was read."""
    pages = _pages(budget)
    yield _item(budget, pages[0], budget.version + 1), budget.version
    for number in sorted({*pages, *budget.pages} - {0}):
        version, before = budget.pages.get(number, AccountPage(0, {}))
        if pages[number] != before:
            attributes: dict[str, Any] = {"owners": _owners(pages[number]), "version": version + 1}
            yield items.item(items.LAB, f"{items.BUDGET}{budget.period}#{number:04}", attributes), version


def as_item(budget: BudgetPeriod) -> items.Item:
    """The period's item as it stands."""
    return _item(budget, _pages(budget)[0], budget.version)


def as_budget(period: str, currency: str, found: Iterable[Mapping[str, Any]]) -> BudgetPeriod:
    """A budget period from its items; without any, a period with nothing held or spent.

    If nothing is held or spent, the period takes the given currency.
    """
    attributes, pages, accounts = dict[str, Any](), dict[int, AccountPage](), dict[str, Account]()
    for item in found:
        page: Mapping[str, Any] = items.values(item)
        number = int(page["sk"].removeprefix(items.BUDGET + period).removeprefix("#") or 0)
        attributes = attributes if number else dict(page)
        pages[number] = AccountPage(int(page["version"]), _accounts(page))
        for owner, account in pages[number].accounts.items():
            # An older release reads and writes page 0 alone: an owner may be on two pages, in two currencies.
            if account.held.currency == attributes["held"]["currency"]:
                accounts[owner] = account + accounts[owner] if owner in accounts else account
    if not attributes:
        return BudgetPeriod(period, Money.zero(currency), Money.zero(currency))
    beyond = {
        name: Money.from_json(attributes[name]) for name in ("overrun", "unleased") if attributes.get(name)
    }
    held, spent = Money.from_json(attributes["held"]), Money.from_json(attributes["spent"])
    version = int(attributes["version"])
    if held.currency != currency and not (held.amount or spent.amount):
        return BudgetPeriod(period, Money.zero(currency), Money.zero(currency), version, pages=pages)
    return BudgetPeriod(period, held, spent, version, accounts, **beyond, pages=pages)


def _pages(budget: BudgetPeriod) -> defaultdict[int, dict[str, Account]]:
    """The accounts by page: each where its owner has been, a new one on the first page with room."""
    pages = defaultdict[int, dict[str, Account]](dict)
    page_of = {
        who(name): number
        for number in sorted(budget.pages, reverse=True)
        for name in budget.pages[number].accounts
    }
    for name in sorted(budget.accounts, key=lambda name: page_of.get(who(name), inf)):
        number = page_of.get(who(name), 0)
        while len(pages[number]) >= MOST_ACCOUNTS:
            number += 1
        pages[number][name] = budget.accounts[name]
    return pages


def _item(budget: BudgetPeriod, accounts: Mapping[str, Account], version: int) -> items.Item:
    attributes: dict[str, Any] = {
        "period": budget.period,
        "held": budget.held.to_json(),
        "spent": budget.spent.to_json(),
        "version": version,
        "overrun": budget.overrun.to_json() if budget.overrun else None,
        "unleased": budget.unleased.to_json() if budget.unleased else None,
        "owners": _owners(accounts),
    }
    return items.item(items.LAB, items.BUDGET + budget.period, attributes)


def _owners(accounts: Mapping[str, Account]) -> dict[str, Any]:
    return {
        owner: {"held": account.held.to_json(), "spent": account.spent.to_json()}
        for owner, account in accounts.items()
    }


def _accounts(page: Mapping[str, Any]) -> dict[str, Account]:
    return {
        owner: Account(Money.from_json(account["held"]), Money.from_json(account["spent"]))
        for owner, account in (page.get("owners") or {}).items()
    }
