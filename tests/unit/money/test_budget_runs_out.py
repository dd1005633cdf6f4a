"""When running leases have used up their budget: leases that end together, and the last cent."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.guard.budget import Running, overdrafts
from lamplighter.domain.leases.lease import Lease
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


def at(one: Lease, **changed: float) -> Lease:
    """The lease with instants so many minutes after eight."""
    return replace(one, **{name: EIGHT + minutes * MINUTE for name, minutes in changed.items()})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("leases", "limit", "spent", "used_up"),
    [
        pytest.param([running(SHORT), running(LONG)], 10, 9, {"long": 30}, id="it ends as the shorter lease ends"),
        pytest.param([running(at(SHORT, closes=60)), running(LONG, nodes=0)], 10, 9, {}, id="it lasts to the end"),
        pytest.param([running(at(SHORT, closes=60)), running(LONG, nodes=0)], 10, 10, {"short": 0, "long": 0},
                     id="it is gone already"),
        pytest.param([running(LONG, so_far=1, nodes=0)], 10, 9, {}, id="the last cent, and nothing runs any more"),
        pytest.param([running(LONG, so_far=1, nodes=0)], 9, 9, {"long": 0}, id="more than the last cent"),
        pytest.param([running(replace(at(LONG, opens=1), id="to-come")), running(LONG, so_far=3)], 10, 8, {"long": 0},
                     id="a lease that does not run yet is passed over"),
        pytest.param([running(at(SHORT, closes=-30), so_far=1), running(LONG)], 10, 8, {"long": 60},
                     id="a lease past its end costs what it has cost"),
    ],
)  # fmt: skip
def test_when_the_money_of_leases_is_used_up(
    leases: list[Running], limit: int, spent: int, used_up: dict[str, float]
) -> None:
    assert minutes(overdrafts(leases, terms(limit), budget(spent=spent), EIGHT)) == used_up


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
    assert {name: values(each) for name, each in own.items()} == {
        "long": {"at": now, "spent": "1.00 USD", "more": "2.00 USD"}
    }


@pytest.mark.parametrize(
    ("after", "cost"),
    [(timedelta(), 3), (-60 * MINUTE, 3), (90 * MINUTE, 6), (240 * MINUTE, 11), (300 * MINUTE, 11)],
)
def test_a_running_lease_costs_its_nodes_time_until_its_end(after: timedelta, cost: int) -> None:
    """3 USD so far, and two nodes at 1 USD an hour."""
    assert running(LONG, so_far=3, nodes=2).by(EIGHT + after, EIGHT) == Money.of(cost, "USD")


def test_seconds_of_nodes_are_paid_exactly() -> None:
    assert running(LONG).by(EIGHT + timedelta(microseconds=9), EIGHT).amount * 3600 * 1_000_000 == 9
