"""What the guard answers to people: arm and watch, until when pages are silent, and which lease is kept."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.guard.orders import ENFORCE, WATCH, OrderOutcome, acknowledge, keep, mode
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.pool import PoolState
from lamplighter.reasons.reason import Reason, reason
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, lease

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
def test_a_person_s_mode_goes_first(before: str | None, as_deployed: str, wanted: str, outcome: str) -> None:
    assert mode(order(), PoolState("gpu", mode=before), as_deployed, wanted).outcome == outcome


def test_a_mode_is_told_with_the_reason_that_was_given() -> None:
    exam = order(because="the exam")

    def answer(command: Command, before: str, wanted: str) -> Reason:
        return mode(command, POOL, before, wanted).reason

    assert answer(order(), WATCH, ENFORCE) == reason("guard.mode.enforce", pool="gpu")
    assert answer(exam, WATCH, ENFORCE) == reason(
        "guard.mode.enforce.because", pool="gpu", because="the exam"
    )
    assert answer(order(), ENFORCE, WATCH) == reason("guard.mode.watch", pool="gpu")
    assert answer(exam, ENFORCE, WATCH) == reason("guard.mode.watch.because", pool="gpu", because="the exam")
    assert answer(exam, WATCH, WATCH) == reason("guard.mode.already", pool="gpu", mode="watch")


@pytest.mark.parametrize(
    ("said", "until"),
    [
        ({}, EIGHT + 12 * HOUR),
        ({"lasting": 12 * HOUR}, EIGHT + 12 * HOUR),
        ({"lasting": SECOND}, EIGHT + SECOND),
        ({"closes": EIGHT + HOUR, "lasting": 2 * HOUR}, EIGHT + HOUR),
    ],
)
def test_pages_are_silenced_as_said_or_for_twelve_hours(said: dict[str, Any], until: datetime) -> None:
    answer = acknowledge(order(**said), LEAKED, EIGHT)
    assert (answer.outcome, answer.until) == ("acknowledged", until)
    assert answer.reason == reason("guard.ack.granted", pool="gpu", until=until)


@pytest.mark.parametrize(
    ("until", "why"),
    [
        (EIGHT, reason("guard.ack.over", until=EIGHT)),
        (EIGHT + 12 * HOUR + SECOND, reason("guard.ack.too-long", most=EIGHT + 12 * HOUR)),
    ],
)
def test_pages_are_silenced_for_no_time_that_is_over_or_too_long(until: datetime, why: Reason) -> None:
    assert acknowledge(order(closes=until), LEAKED, EIGHT) == OrderOutcome("refused", why)


def test_pages_of_a_pool_that_is_not_leaked_are_not_silenced() -> None:
    assert acknowledge(order(), POOL, EIGHT).reason == reason("guard.ack.not-leaked", pool="gpu")


def kept(one: Lease) -> OrderOutcome:
    why = reason("guard.keep.granted", lease=one.called(), until=one.closes, by="alice")
    return OrderOutcome("kept", why, lease=one)


def test_the_only_lease_in_force_is_kept_or_the_one_that_is_named() -> None:
    later = lease("later-1", opens=1)
    assert keep(order(), [later, ONE], EIGHT) == kept(ONE)
    assert keep(order(lease="one-1"), [OTHER, ONE], EIGHT) == kept(ONE)
    assert keep(order(), [OTHER, ONE], EIGHT + 90 * MINUTE) == kept(OTHER)


@pytest.mark.parametrize(
    ("leases", "named", "after", "why"),
    [
        ([], None, timedelta(), reason("guard.keep.none-in-force", pool="gpu")),
        ([ONE], None, 90 * MINUTE, reason("guard.keep.none-in-force", pool="gpu")),
        ([ONE, OTHER], "gone", timedelta(), reason("guard.keep.lease-not-in-force", lease="gone")),
        ([ONE, OTHER], None, timedelta(), reason("guard.keep.several", pool="gpu", leases=("one-1", "other-1"))),
    ],
)  # fmt: skip
def test_one_in_force_is_kept(leases: list[Lease], named: str | None, after: timedelta, why: Reason) -> None:
    assert keep(order(lease=named), leases, EIGHT + after) == OrderOutcome("refused", why)


def test_a_lease_that_is_kept_already_stays_as_it_is() -> None:
    before = replace(ONE, kept="tom")
    assert keep(order(), [before], EIGHT) == OrderOutcome(
        "unchanged", reason("guard.keep.already", lease=before.called(), by="tom"), lease=before
    )
