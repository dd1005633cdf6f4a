"""What the guard answers to people: arm and watch, silence until when, and which lease is kept."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.guard.orders import ENFORCE, WATCH, OrderOutcome, acknowledge, keep, mode
from lamplighter.domain.pool.pool import PoolState
from tests.unit.leases.granting.test_grants import EIGHT, HOUR, MINUTE, SECOND, lease

POOL = PoolState("gpu")
LEAKED = PoolState("gpu", leaked_since=EIGHT - HOUR)
ONE, OTHER = lease("one-1", closes=90), lease("other-1")


def order(**more: Any) -> Command:
    return replace(Command("c1", Verb.KEEP, "gpu", "alice", "alice", "cli", EIGHT, EIGHT + HOUR), **more)


@pytest.mark.parametrize(
    ("before", "as_deployed", "wanted", "outcome"),
    [
        (None, WATCH, WATCH, "unchanged"),
        (None, ENFORCE, ENFORCE, "unchanged"),
        (None, WATCH, ENFORCE, "armed"),
        (None, ENFORCE, WATCH, "watching"),
        (ENFORCE, WATCH, ENFORCE, "unchanged"),
        (ENFORCE, WATCH, WATCH, "watching"),
        (WATCH, ENFORCE, ENFORCE, "armed"),
    ],
)
def test_a_pool_is_in_the_mode_that_a_person_chose_before_the_lab_s(
    before: str | None, as_deployed: str, wanted: str, outcome: str
) -> None:
    assert mode(order(), PoolState("gpu", mode=before), as_deployed, wanted).outcome == outcome


def test_a_mode_is_told_with_the_reason_that_was_given() -> None:
    exam = order(because="the exam")

    assert mode(order(), POOL, WATCH, ENFORCE).reason == (
        "what runs on pool gpu without a lease is closed from now on"
    )
    assert mode(exam, POOL, ENFORCE, WATCH).reason == (
        "what runs on pool gpu without a lease is only said from now on, not closed, because the exam"
    )


@pytest.mark.parametrize(
    ("said", "until"),
    [
        ({}, EIGHT + 12 * HOUR),
        ({"lasting": 12 * HOUR}, EIGHT + 12 * HOUR),
        ({"lasting": SECOND}, EIGHT + SECOND),
        ({"closes": EIGHT + HOUR, "lasting": 2 * HOUR}, EIGHT + HOUR),
    ],
)
def test_pages_are_silenced_for_as_long_as_is_said_and_else_for_twelve_hours(
    said: dict[str, Any], until: datetime
) -> None:
    answer = acknowledge(order(**said), LEAKED, EIGHT)

    assert (answer.outcome, answer.until) == ("acknowledged", until)
    assert answer.reason == (
        f"nobody is paged about pool gpu until {until:%H:%M} UTC on {until:%Y-%m-%d}; "
        "it is being closed all the same"
    )


@pytest.mark.parametrize(
    ("until", "reason"),
    [
        (EIGHT, "20:00 UTC on 2026-11-20 is over already"),
        (
            EIGHT + 12 * HOUR + SECOND,
            "pages are silenced for at most 12 hours, until 08:00 UTC on 2026-11-21",
        ),
    ],
)
def test_pages_are_silenced_for_no_time_that_is_over_or_too_long(until: datetime, reason: str) -> None:
    assert acknowledge(order(closes=until), LEAKED, EIGHT) == OrderOutcome("refused", reason)


def test_pages_of_a_pool_that_is_not_leaked_are_not_silenced() -> None:
    assert acknowledge(order(), POOL, EIGHT).reason == ("pool gpu is not leaked, so nobody is paged about it")


def kept(one: Any, until: str) -> OrderOutcome:
    return OrderOutcome(
        "kept", f"{one.called()} is kept until {until} UTC on 2026-11-20, idle or not, by alice", lease=one
    )


def test_the_only_lease_in_force_is_kept_or_the_one_that_is_named() -> None:
    later = lease("later-1", opens=1)

    assert keep(order(), [later, ONE], EIGHT) == kept(ONE, "21:30")
    assert keep(order(lease="one-1"), [OTHER, ONE], EIGHT) == kept(ONE, "21:30")
    assert keep(order(), [OTHER, ONE], EIGHT + 90 * MINUTE) == kept(OTHER, "22:00")


@pytest.mark.parametrize(
    ("leases", "named", "after", "reason"),
    [
        ([], None, timedelta(), "any lease of pool gpu is not in force, so there is nothing to keep"),
        ([ONE], None, 90 * MINUTE, "any lease of pool gpu is not in force, so there is nothing to keep"),
        ([ONE, OTHER], "gone", timedelta(), "the lease gone is not in force, so there is nothing to keep"),
        ([ONE, OTHER], None, timedelta(), "pool gpu has several leases, name one of one-1, other-1"),
    ],
)
def test_what_is_kept_is_one_lease_in_force(
    leases: list[Any], named: str | None, after: timedelta, reason: str
) -> None:
    assert keep(order(lease=named), leases, EIGHT + after) == OrderOutcome("refused", reason)


def test_a_lease_that_is_kept_already_stays_as_it_is() -> None:
    before = replace(ONE, kept="tom")

    assert keep(order(), [before], EIGHT) == OrderOutcome(
        "unchanged", "the one lease is kept already, by tom", lease=before
    )
