"""Open commands at the edges: beside nodes that stay away, at the end of a pause, as another lease ends."""

from dataclasses import replace
from datetime import datetime

import pytest

from lamplighter.domain.calendar.changes import Changes, Skip
from lamplighter.domain.granting.grant import GrantDecision
from lamplighter.domain.leases.lease import LeaseState
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, lease, usd
from tests.unit.granting.test_grants import PLANNED, asked, order, paused, window


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
