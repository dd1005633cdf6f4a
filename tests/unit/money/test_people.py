"""One person is one account, under whatever names: for granting, for `cost` and for their own leases."""

from dataclasses import replace

import pytest

from lamplighter.domain.billing import statement
from lamplighter.domain.billing.statement import Ahead, Row
from lamplighter.domain.granting import spending
from lamplighter.domain.leases.terms import terms
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.people.person import who
from lamplighter.lab.model import Lab
from tests.builders.leases import persons, usd

BEFORE, NOW, IN_THE_LAB = "min (U1MIN)", "minji (U1MIN)", "Kim Minji (U1MIN)"
LAB = Lab.model_validate({"name": "lab", "guard": {"budget": {"owners": {IN_THE_LAB: "40"}}}})
NOTHING = BudgetPeriod("2026-11", usd(0), usd(0))


def of_an_older_release() -> BudgetPeriod:
    """An older release kept an account for each name."""
    accounts = {BEFORE: Account(usd(5), usd(5)), NOW: Account(usd(12), usd(8))}
    return replace(NOTHING, held=usd(17), spent=usd(13), accounts=accounts)


def test_cost_shows_a_person_once_with_what_granting_counts() -> None:
    budget, limits = of_an_older_release(), terms(LAB, "gpu").owners

    [row] = statement.owners(budget, Ahead([replace(persons("next", owner=BEFORE), hold=usd(1))], []), limits)

    assert row == Row(NOW, usd(13), usd(17), usd(1), usd(40))
    assert spending.left(BEFORE, terms(LAB, "gpu"), budget) == usd(40) - row.spent - row.held


def test_the_next_write_joins_the_accounts_of_a_person_under_the_newest_name() -> None:
    budget = of_an_older_release().freeing(usd(5), IN_THE_LAB).paying(usd(1), IN_THE_LAB)
    budget = budget.holding(usd(2), "bob")

    assert budget.accounts == {IN_THE_LAB: Account(usd(12), usd(14)), "bob": Account(usd(2), usd(0))}
    assert budget.account(BEFORE) == budget.account(NOW) == budget.account(IN_THE_LAB)
    assert (budget.held, budget.spent) == (usd(14), usd(14))


def test_the_smallest_part_that_the_lab_states_for_a_person_counts() -> None:
    assert spending.parts({BEFORE: 3, "bob": 5, NOW: 2, IN_THE_LAB: 4}) == {who(NOW): 2, "bob": 5}


def test_an_iam_user_who_is_called_like_a_slack_id_is_somebody_else() -> None:
    lease = persons("hers", owner=NOW, by=BEFORE)

    assert lease.is_of(IN_THE_LAB)
    assert not lease.is_of("U1MIN")
    assert not persons("theirs", owner="U1MIN", by=None).is_of(NOW)


@pytest.mark.parametrize("owner", [BEFORE, NOW])
def test_who_is_the_same_under_every_name(owner: str) -> None:
    assert who(owner) == who(IN_THE_LAB) != who("minji (U2MIN)")
