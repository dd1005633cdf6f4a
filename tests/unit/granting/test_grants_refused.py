"""What an open command is refused, by which rule and until when, and what it gets at the edges of a pause."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Changes, Skip
from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting.grant import GrantDecision
from lamplighter.domain.leases.curfew import Curfew
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.budget import BudgetPeriod
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, lease, usd
from tests.unit.granting.test_grants import MONEY, PLANNED, POOL, asked, order, paused, window


@pytest.mark.parametrize("state", [LeaseState.CLOSING, LeaseState.CLOSED, LeaseState.REFUSED])
def test_a_lease_opens_once(state: LeaseState) -> None:
    over = lease(state=state)
    reason = f"the evening lease is {state.value}; a lease opens once"
    assert asked(window(), over) == GrantDecision("refused", reason, over)


def test_a_command_that_is_too_old_is_refused_at_its_expiry() -> None:
    assert asked(order(), now=EIGHT + 15 * MINUTE - SECOND).outcome == "granted"
    assert asked(order(), now=EIGHT + 15 * MINUTE) == GrantDecision(
        "refused",
        "the command to open pool gpu was good until 20:15 on 2026-11-20 (Etc/UTC) "
        "and came at 20:15 on 2026-11-20 (Etc/UTC)",
    )
    assert asked(order(generation=2)).reason == (
        "the command to open pool gpu was given for state 2, and it is in 3 by now"
    )


@pytest.mark.parametrize(
    "command", [window(), replace(window(), window=None), replace(window(), source="cli")]
)
def test_what_a_window_asks_for_stands_in_the_calendar(command: Command) -> None:
    gone = GrantDecision("refused", "evening-1 is in the calendar no more: it was taken back")
    assert asked(command) == gone
    assert asked(command, replace(PLANNED, window="morning")) == gone


def test_an_open_pool_is_told_with_its_nodes_and_the_end_of_its_last_lease() -> None:
    first, last = lease("a", closes=60, nodes=1), lease("b", closes=90, nodes=1)
    answer = GrantDecision(
        "already-open",
        "pool gpu is open with 2 of 3 nodes until 21:30 on 2026-11-20 (Etc/UTC); nodes are added on request only",
        last,
    )

    assert asked(order(), last, first) == asked(order(), first, last) == answer
    assert asked(order(add=True), first, last).outcome == "granted"
    assert asked(order(opens=EIGHT + 90 * MINUTE), first, last).outcome == "granted"
    assert asked(replace(window(), nodes=1), first, last, replace(PLANNED, nodes=1)).outcome == "granted"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"closes": EIGHT}, "it would end at 20:00 on 2026-11-20 (Etc/UTC), and that has passed"),
        ({"closes": EIGHT + 5 * MINUTE}, None),
        ({"closes": EIGHT + 5 * MINUTE - SECOND}, "it would last 4m, and no lease is shorter than 5m"),
        (
            {"opens": EIGHT + HOUR, "closes": EIGHT + HOUR},
            "it would end at 21:00 on 2026-11-20 (Etc/UTC), and that has passed",
        ),
        ({"opens": EIGHT + 2 * HOUR, "closes": EIGHT + HOUR},
         "it would end at 21:00 on 2026-11-20 (Etc/UTC), and that has passed"),
        ({"nodes": 3}, None),
        ({"nodes": 4}, "4 nodes were asked for, and pool gpu has at most 3"),
        ({"lasting": 8 * HOUR}, None),
        ({"lasting": 8 * HOUR + MINUTE}, "it would last 8h1m, and no lease lasts longer than 8h (guard.longest_lease)"),
        (
            {"opens": EIGHT + timedelta(days=366, seconds=1)},
            "it would open at 20:00 on 2027-11-21 (Etc/UTC), and no lease is granted more than a year ahead",
        ),
    ],
)  # fmt: skip
def test_what_no_waiting_changes_has_no_earliest_hour(more: dict[str, Any], reason: str | None) -> None:
    answer = asked(order(**more))
    assert answer == GrantDecision("refused", reason) if reason else answer.outcome == "granted"


def test_a_lease_is_granted_up_to_a_year_ahead() -> None:
    ahead = EIGHT + timedelta(days=366)
    budgets = {"2027-11": BudgetPeriod("2027-11", usd(0), usd(0))}
    assert asked(order(opens=ahead), budgets=budgets).outcome == "granted"


def test_a_window_may_be_longer_than_a_person_s_lease() -> None:
    long = replace(PLANNED, closes=EIGHT + 9 * HOUR)
    assert asked(replace(window(), closes=EIGHT + 9 * HOUR), long).outcome == "granted"


def test_a_window_and_the_usual_length_of_a_lab_may_be_shorter_than_the_shortest_lease() -> None:
    short = replace(PLANNED, closes=EIGHT + MINUTE)
    assert asked(replace(window(), closes=EIGHT + MINUTE), short).outcome == "granted"
    assert asked(order(), terms=replace(POOL, default=MINUTE)).outcome == "granted"


def test_a_full_pool_names_who_is_there_and_when_there_is_room() -> None:
    one, other = lease("a", closes=60), lease("b", opens=30, closes=90, nodes=1, window=None)
    later = lease("c", opens=90, closes=120)
    answer = asked(order(add=True, opens=EIGHT + 10 * MINUTE, nodes=2), one, other, later)

    assert answer == GrantDecision(
        "refused",
        "pool gpu is full at 20:10 on 2026-11-20 (Etc/UTC): the a lease (2) and the 2 asked for would be "
        "4 of 3 nodes",
        earliest=EIGHT + 120 * MINUTE,
    )
    beside = asked(order(add=True, opens=EIGHT + 40 * MINUTE), one, other, later)
    assert beside.reason == (
        "pool gpu is full at 20:40 on 2026-11-20 (Etc/UTC): the a lease (2) and class's lease (1) and the 1 asked for "
        "would be 4 of 3 nodes"
    )
    assert beside.earliest == EIGHT + HOUR


def test_a_planned_window_keeps_its_nodes_from_a_person_and_not_from_a_window_that_opens_before() -> None:
    planned = lease("late", opens=60, closes=120, state=LeaseState.PLANNED)

    walk_in = asked(order(nodes=2, lasting=2 * HOUR), planned)

    assert str(walk_in.reason).startswith(
        "pool gpu is full at 21:00 on 2026-11-20 (Etc/UTC): the late lease (2) and the 2"
    )
    assert walk_in.earliest == EIGHT + 2 * HOUR
    assert asked(window(), planned, PLANNED).outcome == "granted"


def test_a_budget_that_is_used_up_names_the_next_period_as_the_earliest() -> None:
    spent = {**MONEY, "2026-11": BudgetPeriod("2026-11", usd(1), usd("98.5"))}
    december = datetime(2026, 12, 1, tzinfo=UTC)

    answer = asked(order(), budgets=spent)

    assert answer == GrantDecision(
        "refused",
        "it would cost 1.00 USD, more than is left of the 100.00 USD for the month (2026-11): 1.00 USD is held, "
        "98.50 USD is spent, so 0.50 USD is left until 00:00 on 2026-12-01 (Etc/UTC)",
        earliest=december,
    )
    assert asked(order(lasting=HOUR / 2), budgets=spent).outcome == "granted"
    assert asked(order(), budgets={"2026-11": spent["2026-11"]}).earliest is None
    drained = {**spent, "2026-12": BudgetPeriod("2026-12", usd(100), usd(0))}
    assert asked(order(), budgets=drained).earliest is None


def test_no_earliest_hour_lies_in_a_curfew_and_a_moved_lease_ends_at_it() -> None:
    """The pool is free as the curfew begins; at its other end a lease may open."""
    curfewed = replace(POOL, curfew=Curfew(22 * 60, POOL.zone))
    full = lease(closes=120, nodes=3)

    assert asked(order(add=True), full, terms=curfewed).earliest == datetime(2026, 12, 1, tzinfo=UTC)
    nearly = lease(closes=90, nodes=3)
    assert asked(order(add=True, lasting=HOUR), nearly, terms=curfewed).earliest == EIGHT + 90 * MINUTE


def test_money_that_is_planned_for_windows_is_not_there_for_a_person() -> None:
    planned = lease("late", opens=300, closes=360, state=LeaseState.PLANNED, hold=usd("99.5"))
    granted = replace(planned, state=LeaseState.ADMITTED)

    assert asked(order(), planned) == GrantDecision(
        "refused",
        "it would cost 1.00 USD, more than is left of the 100.00 USD for the month (2026-11): 0.00 USD is held, "
        "0.00 USD is spent and 99.50 USD is planned for windows, so 0.50 USD is left until 00:00 on 2026-12-01 "
        "(Etc/UTC)",
        earliest=datetime(2026, 12, 1, tzinfo=UTC),
    )
    # What is granted is held already.
    assert asked(order(), granted).outcome == "granted"


def test_a_lease_all_of_whose_nodes_stay_away_opens_nothing_for_anybody() -> None:
    assert asked(order(), lease(missing=2)).outcome == "granted"
    assert asked(order(), lease(missing=1)).outcome == "already-open"


def test_a_lease_that_was_granted_for_later_is_no_window_that_was_moved() -> None:
    ahead = lease(opens=60, state=LeaseState.ADMITTED)
    assert asked(window(), ahead) == GrantDecision("granted", "the evening lease was granted before", ahead)


@pytest.mark.parametrize(
    ("opens", "now", "outcome"),
    [
        (EIGHT + 2 * HOUR - SECOND, EIGHT, "refused"),
        (EIGHT + 2 * HOUR, EIGHT, "granted"),
        (EIGHT + HOUR, EIGHT + 2 * HOUR, "granted"),
        (EIGHT + HOUR, EIGHT + 2 * HOUR - SECOND, "refused"),
    ],
)
def test_a_pause_counts_when_a_lease_would_open(opens: datetime, now: datetime, outcome: str) -> None:
    answer = asked(order(opens=opens, expires=EIGHT + 9 * HOUR), changes=paused(2), now=now)
    assert answer.outcome == outcome
    assert answer.earliest == (EIGHT + 2 * HOUR if outcome == "refused" else None)


def test_what_a_person_hears_in_a_pause_is_over_and_a_lease_of_theirs_waits() -> None:
    mine = lease("mine", owner="alice", window=None, state=LeaseState.ADMITTED)
    known = asked(order(lease="mine"), mine, changes=paused(2))

    assert (known.outcome, known.lease, known.for_now) == ("refused", mine, True)
    assert not asked(order(), changes=paused(2)).for_now
    assert not asked(order(nodes=4)).for_now


def test_the_lease_after_a_pause_is_as_long_as_it_was_asked_for() -> None:
    """What is there from 22:30 on leaves room for half an hour and not for more."""
    full = lease("late", opens=150, closes=180, nodes=3, state=LeaseState.PLANNED)
    assert asked(order(lasting=HOUR / 2), full, changes=paused(2)).earliest == EIGHT + 2 * HOUR
    assert asked(order(lasting=HOUR / 2 + SECOND), full, changes=paused(2)).earliest == EIGHT + 3 * HOUR


def test_a_date_that_was_skipped_has_no_earliest_hour() -> None:
    skipped = Changes(skip=Skip("evening", "2026-11-20", "tom", EIGHT - HOUR, "the holiday"))

    assert asked(window(), PLANNED, changes=skipped) == GrantDecision(
        "refused", "tom skipped evening on 2026-11-20 because the holiday", PLANNED, for_now=True
    )
    assert asked(order(), changes=skipped).earliest is None


def test_a_window_may_open_late_and_not_at_its_end() -> None:
    late = replace(window(), expires=EIGHT + 9 * HOUR)

    assert asked(late, PLANNED, now=EIGHT + 2 * HOUR - SECOND).outcome == "granted"
    assert asked(late, PLANNED, now=EIGHT + 2 * HOUR) == GrantDecision(
        "refused", "it would end at 22:00 on 2026-11-20 (Etc/UTC), and that has passed"
    )


def test_who_leaves_as_the_pool_is_full_is_not_named() -> None:
    leaves, comes = lease("a", closes=60), lease("b", opens=60, closes=90)

    assert asked(order(add=True, nodes=2, opens=EIGHT + HOUR, lasting=HOUR), leaves, comes) == GrantDecision(
        "refused",
        "pool gpu is full at 21:00 on 2026-11-20 (Etc/UTC): the b lease (2) and the 2 asked for would be "
        "4 of 3 nodes",
        earliest=EIGHT + 90 * MINUTE,
    )


def test_a_window_at_another_instant_is_held_for_what_it_costs_there() -> None:
    moved = replace(PLANNED, opens=EIGHT - HOUR, closes=EIGHT + HOUR)

    answer = asked(replace(window(), opens=EIGHT - HOUR, closes=EIGHT + HOUR), moved)

    assert answer.lease is not None
    assert (answer.lease.opens, answer.lease.closes, answer.lease.hold) == (
        EIGHT - HOUR, EIGHT + HOUR, usd(4)
    )  # fmt: skip
