"""When running leases have used up their budget: leases that end together, and the last cent."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.guard.budget import overdrafts
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.reasons.reason import Reason, Value
from tests.builders.guard_facts import lease
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.guard.rules.test_reckoning import budget, running, terms

SHORT, LONG = lease("short", closes=30), lease("long", closes=240)


def values(overdraft: Overdraft) -> dict[str, Value]:
    """What an overdraft says beside its budget."""
    assert isinstance(overdraft.why, Reason)
    return {name: value for name, value in overdraft.why.values.items() if name != "budget"}


def budget_of(overdraft: Overdraft) -> str:
    """The code of the budget that an overdraft names."""
    assert isinstance(overdraft.why, Reason)
    budget = overdraft.why.values["budget"]
    assert isinstance(budget, Reason)
    return budget.code


def minutes(found: dict[str, Overdraft]) -> dict[str, float]:
    """After eight, by lease."""
    return {name: (each.at - EIGHT) / MINUTE for name, each in found.items()}


def test_a_lease_whose_money_ends_as_it_ends_is_left_alone_and_the_longer_one_is_not() -> None:
    """Both cost 1 USD until 20:30, and that is all there is."""
    assert minutes(overdrafts([running(SHORT), running(LONG)], terms(10), budget(spent=9), EIGHT)) == {
        "long": 30
    }


def test_money_that_lasts_to_the_end_of_what_runs_is_not_used_up() -> None:
    """The longer lease has no node that costs anything."""
    hour = replace(SHORT, closes=EIGHT + 60 * MINUTE)

    both = [running(hour), running(LONG, nodes=0)]

    assert overdrafts(both, terms(10), budget(spent=9), EIGHT) == {}
    assert minutes(overdrafts(both, terms(10), budget(spent=10), EIGHT)) == {"short": 0, "long": 0}


def test_what_has_cost_the_last_cent_and_runs_no_more_is_not_used_up() -> None:
    rest = running(LONG, so_far=1, nodes=0)
    assert overdrafts([rest], terms(10), budget(spent=9), EIGHT) == {}
    assert minutes(overdrafts([rest], terms(9), budget(spent=9), EIGHT)) == {"long": 0}


def test_a_lease_that_does_not_run_is_passed_over_and_those_behind_it_are_not() -> None:
    to_come = replace(LONG, id="to-come", opens=EIGHT + MINUTE)
    found = overdrafts([running(to_come), running(LONG, so_far=3)], terms(10), budget(spent=8), EIGHT)
    assert minutes(found) == {"long": 0}


def test_a_lease_past_its_end_costs_what_it_has_cost_so_far() -> None:
    over = replace(SHORT, closes=EIGHT - 30 * MINUTE)
    found = overdrafts([running(over, so_far=1), running(LONG)], terms(10), budget(spent=8), EIGHT)
    assert minutes(found) == {"long": 60}


@pytest.mark.parametrize(
    ("own", "at", "whose"),
    [(1, 60, "money.owners-budget"), (2, 120, "money.budget"), (3, 120, "money.budget")],
)
def test_the_budget_that_is_used_up_first_is_told_or_the_lab_s(own: int, at: float, whose: str) -> None:
    found = overdrafts([running(LONG)], terms(10, alice=own), budget(spent=8, alice=0), EIGHT)
    assert minutes(found) == {"long": at}
    assert budget_of(found["long"]) == whose


def test_an_overdraft_says_what_is_spent_and_what_has_run_of_all_who_share_it() -> None:
    bob = replace(LONG, id="bobs", owner="bob")
    both = [running(LONG, so_far=2), running(bob, so_far=1)]

    whole = overdrafts(both, terms(10), budget(spent=8), EIGHT + MINUTE)
    own = overdrafts(both, terms(99, alice=2), budget(spent=8, alice=1), EIGHT + MINUTE)

    # A budget that is used up already is used up now.
    now = EIGHT + MINUTE
    assert values(whole["long"]) == {"at": now, "spent": "8.00 USD", "more": "3.00 USD"}
    assert values(own["long"]) == {"at": now, "spent": "1.00 USD", "more": "2.00 USD"}


@pytest.mark.parametrize(
    ("after", "cost"),
    [(timedelta(), 3), (-60 * MINUTE, 3), (90 * MINUTE, 6), (240 * MINUTE, 11), (300 * MINUTE, 11)],
)
def test_a_running_lease_costs_its_nodes_time_until_its_end(after: timedelta, cost: int) -> None:
    """3 USD so far, and two nodes at 1 USD an hour."""
    assert running(LONG, so_far=3, nodes=2).by(EIGHT + after, EIGHT) == Money.of(cost, "USD")


def test_seconds_of_nodes_are_paid_exactly() -> None:
    assert running(LONG).by(EIGHT + timedelta(microseconds=9), EIGHT).amount * 3600 * 1_000_000 == 9
