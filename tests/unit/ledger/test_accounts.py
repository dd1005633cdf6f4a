"""The accounts of a budget period: any number of owners fits, and each counts once, whichever release wrote it."""

import json
from dataclasses import replace
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger import money as ledger_money
from lamplighter.adapters.aws.ledger.ledger import Conflict, Ledger
from lamplighter.domain.money.budget import Account, AccountPage, BudgetPeriod
from lamplighter.domain.money.money import Money
from tests.builders.leases import EIGHT, usd
from tests.ledger_table import kept
from tests.unit.ledger.test_charges import budget, charges, ran
from tests.unit.ledger.test_ledger import decision, entry, granted, lease

PERIOD, FULL = "BUDGET#2026-11", ledger_money.MOST_ACCOUNTS
A_CENT = Account(usd("0.01"), usd(0))


def owner(number: int) -> str:
    return f"arn-student-role/s{number:05}"


def stored(owners: int, **more: Account) -> None:
    """The one item that an older release wrote, with an account for each owner of a cent."""
    accounts = {owner(number): A_CENT for number in range(owners)} | more
    used = sum(accounts.values(), Account(usd(0), usd(0)))
    period = BudgetPeriod("2026-11", used.held, used.spent, 7)
    item = ledger_money.as_item(period)
    item["owners"] = items.encoded(
        {
            name: {"held": account.held.to_json(), "spent": account.spent.to_json()}
            for name, account in accounts.items()
        }
    )
    boto3.client("dynamodb").put_item(TableName="ledger", Item=item)


def page(number: int = 0) -> dict[str, Any]:
    return kept("LAB", PERIOD if number == 0 else f"{PERIOD}#{number:04}")


def sums(there: BudgetPeriod) -> tuple[Money, Money]:
    used = sum(there.accounts.values(), Account(usd(0), usd(0)))
    return used.held, used.spent


def test_the_account_of_one_owner_more_is_kept_beside_a_full_item(ledger: Ledger) -> None:
    stored(FULL)

    granted(ledger, replace(lease(), owner="last"))

    assert len(page()["owners"]) == FULL
    assert list(page(1)["owners"]) == ["last"]
    assert budget(ledger).account("last").held == lease().hold
    assert sums(budget(ledger)) == (budget(ledger).held, budget(ledger).spent)


def test_a_period_of_thousands_of_owners_is_in_items_of_a_fraction_of_what_dynamodb_holds() -> None:
    """An item of an older release that is full is divided with the next write, which is one transaction."""
    accounts = {owner(number): A_CENT for number in range(4000)}
    full = BudgetPeriod("2026-11", usd(40), usd(0), 7, accounts, pages={0: AccountPage(7, accounts)})

    written = [item for item, _ in ledger_money.as_items(full.holding(usd(1), "last"))]

    assert len(written) == 21
    assert max(len(json.dumps(item)) for item in written) < 50_000
    again = ledger_money.as_budget("2026-11", "USD", written)
    assert (len(again.accounts), again.account("last").held) == (4001, usd(1))
    assert sums(again) == (again.held, again.spent) == (usd(41), usd(0))


def test_an_owner_on_a_page_is_charged_and_settled_there(ledger: Ledger) -> None:
    stored(FULL)
    written = granted(ledger, replace(lease(), owner="last"))
    ledger.begin_closing([written], ledger.pool("gpu"), EIGHT, entry("closing"))
    charges(ledger, *ledger.leases("gpu"), until=1, unleased=ran(0, 0), _1=ran(1, 2))
    [closing] = ledger.leases("gpu")

    ledger.settle(replace(closing, closed=EIGHT, cost=usd(3)), budget(ledger), entry("closed"))

    assert budget(ledger).account("last") == Account(usd(0), usd(3))
    assert sums(budget(ledger)) == (budget(ledger).held, budget(ledger).spent)
    assert page(1)["version"] == 3


def test_a_change_writes_only_the_page_of_its_owner(ledger: Ledger) -> None:
    stored(2 * FULL)
    granted(ledger, replace(lease(), owner="last"))
    granted(ledger, replace(lease("cli-2"), owner="last"), "open-2")

    assert [page(number)["version"] for number in range(3)] == [9, 1, 2]


def test_a_page_that_was_written_since_it_was_read_is_a_conflict(ledger: Ledger) -> None:
    stored(FULL)
    granted(ledger, replace(lease(), owner="last"))
    read = budget(ledger)
    torn = replace(read, pages={0: read.pages[0]}, accounts=read.pages[0].accounts)

    with ledger.writing("gpu", "open-2", EIGHT) as fence, pytest.raises(Conflict):
        ledger.grant(
            replace(lease("cli-2"), owner="last"),
            decision("open-2"),
            pool=ledger.pool("gpu"),
            budget=torn,
            fence=fence,
            why=entry(),
        )
    assert budget(ledger) == read


def test_what_an_older_release_wrote_after_a_roll_back_counts_once(ledger: Ledger) -> None:
    stored(FULL)
    granted(ledger, replace(lease(), owner="last"))
    # The older release reads the period's item alone, and adds an account for the same owner there.
    stored(FULL, last=Account(usd(3), usd(2)))

    assert budget(ledger).account("last") == Account(usd(3) + lease().hold, usd(2))
    charges(ledger, until=1, unleased=ran(1))
    charges(ledger, until=2, unleased=ran(1))
    assert budget(ledger).account("last") == Account(usd(3) + lease().hold, usd(2))
    assert len(budget(ledger).accounts) == FULL + 1


EURO, NO_EURO = Money.of(1, "EUR"), Money.zero("EUR")


@pytest.mark.parametrize(
    ("older", "held"),
    [
        (BudgetPeriod("2026-11", usd(0), usd(0), 9), 1),
        (BudgetPeriod("2026-11", EURO, NO_EURO, 9, {"last": Account(EURO, NO_EURO)}), 2),
    ],
)
def test_a_rest_on_a_page_is_gone_when_the_period_has_a_new_currency(
    ledger: Ledger, older: BudgetPeriod, held: int
) -> None:
    """An older release that frees a hold cannot see the account on the page."""
    stored(FULL)
    granted(ledger, replace(lease(), owner="last"))
    boto3.client("dynamodb").put_item(TableName="ledger", Item=ledger_money.as_item(older))

    with ledger.writing("gpu", "open-2", EIGHT) as fence:
        ledger.grant(
            replace(lease("cli-2"), hold=EURO, owner="last"),
            decision("open-2"),
            pool=ledger.pool("gpu"),
            budget=ledger.budget("2026-11", "EUR"),
            fence=fence,
            why=entry(),
        )

    assert ledger.budget("2026-11", "EUR").accounts == {"last": Account(Money.of(held, "EUR"), NO_EURO)}
