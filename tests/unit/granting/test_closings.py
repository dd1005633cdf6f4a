"""Which leases a close ends and when it comes too late; how long is waited; since when a pool is idle."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting.closing import Closing, decide, failure, is_emergency, wait_for_successor
from lamplighter.domain.granting.idleness import idle_since
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.schedules.of_leases import unopened
from lamplighter.errors import TryLater
from lamplighter.values.clock_time import clock_time
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, lease
from tests.drawn import drawn_by

LEASE = lease()
PLANNED = lease(state=LeaseState.PLANNED)


def close(**more: Any) -> Command:
    given = Command(
        "c1", Verb.CLOSE, "gpu", "alice", "alice", "cli", EIGHT, EIGHT + 15 * MINUTE, lease="evening-1"
    )
    return replace(given, **more)


def asked(command: Command, *leases: Any, opened: str | None = None, minutes: float = 1) -> Closing:
    return drawn_by(clock_time, decide(command, opened, leases, EIGHT + minutes * MINUTE))


def test_a_named_lease_is_closed_for_the_reason_that_was_given() -> None:
    other = lease("other")
    assert asked(close(), other, LEASE) == Closing((LEASE,), None, "alice closed pool gpu")
    assert asked(close(because="the class is over"), LEASE).reason == "the class is over"
    assert asked(close(lease=None, opened_by="o1"), other, LEASE, opened="evening-1").leases == (LEASE,)


@pytest.mark.parametrize("state", [LeaseState.PLANNED, LeaseState.CLOSED, LeaseState.REFUSED])
def test_a_lease_that_does_not_run_is_not_closed(state: LeaseState) -> None:
    over = f"the lease evening-1 is {state.value}: there is nothing to close"
    assert asked(close(), lease(state=state)) == Closing((), over, "alice closed pool gpu")


def test_a_lease_that_nobody_knows_is_not_closed() -> None:
    assert asked(close()).over == "the lease evening-1 is not in the ledger: there is nothing to close"
    assert asked(close(lease=None, opened_by="o1"), LEASE).over == "what is to be closed was never granted"


def test_a_close_for_an_end_that_was_moved_later_ends_nothing_before_the_new_one() -> None:
    late = close(closes=EIGHT + HOUR, expires=EIGHT + 9 * HOUR)

    assert asked(late, LEASE, minutes=60).over == (
        "this close was for 21:00 UTC on 2026-11-20; the evening lease was moved to 22:00 UTC on 2026-11-20"
    )
    assert asked(late, LEASE, minutes=120).leases == (LEASE,)
    assert asked(replace(late, closes=LEASE.closes), LEASE, minutes=60).leases == (LEASE,)


def test_a_close_that_is_too_old_ends_nothing_that_still_has_time() -> None:
    assert asked(close(), LEASE, minutes=14.9).leases == (LEASE,)
    assert "was good until 20:15" in str(asked(close(), LEASE, minutes=15).over)
    assert asked(close(generation=1), LEASE).over == (
        "the command to close pool gpu was given for state 1, and it is in 0 by now"
    )
    closing = lease(state=LeaseState.CLOSING)
    assert asked(close(), closing, minutes=15).leases == (closing,)


BEGUN, CLOSING, OVER = (
    lease("begun"),
    lease("closing", state=LeaseState.CLOSING),
    lease("over", opens=-60, closes=1),
)
TO_COME = lease("to-come", opens=2, state=LeaseState.ADMITTED)


def test_a_person_closes_everything_that_has_begun_and_the_guard_what_is_over() -> None:
    there = (BEGUN, CLOSING, OVER, TO_COME, lease(state=LeaseState.CLOSED))

    assert asked(close(lease=None), *there) == Closing((CLOSING, BEGUN, OVER), None, "alice closed pool gpu")
    assert asked(close(lease=None, source="guard"), *there).leases == (CLOSING, OVER)
    assert asked(close(lease=None, source="guard"), *there, minutes=99).leases == (CLOSING, OVER)
    assert asked(close(lease=None), *there, minutes=2).leases == (CLOSING, BEGUN, OVER, TO_COME)
    assert asked(close(lease=None), *there, minutes=15).leases == ()
    # All of a pool is meant in whatever state it is.
    for generation in (0, 5):
        assert asked(close(lease=None, generation=generation), *there).leases == (CLOSING, BEGUN, OVER)


@pytest.mark.parametrize(
    ("more", "emergency"),
    [
        ({}, False),
        ({"lease": None}, True),
        ({"lease": None, "source": "slack"}, True),
        ({"lease": None, "source": "guard"}, False),
        ({"lease": None, "opened_by": "o1"}, False),
    ],
)
def test_who_closes_all_of_a_pool_waits_for_nobody(more: dict[str, Any], emergency: bool) -> None:
    assert is_emergency(close(**more)) is emergency


@pytest.mark.parametrize(("seconds", "waits"), [(0, False), (1, True), (60, True), (61, False)])
def test_nodes_are_kept_for_a_lease_that_opens_within_a_minute(seconds: int, waits: bool) -> None:
    opens = EIGHT + seconds * SECOND
    for state in (LeaseState.PLANNED, LeaseState.ADMITTED):
        if waits:
            with pytest.raises(
                TryLater, match=r"the evening lease opens at 20:0\d UTC on 2026-11-20 and takes over"
            ):
                wait_for_successor([replace(LEASE, state=state, opens=opens)], EIGHT)
        else:
            wait_for_successor([replace(LEASE, state=state, opens=opens)], EIGHT)
    wait_for_successor([replace(LEASE, state=LeaseState.OPEN, opens=opens)], EIGHT)


@pytest.mark.parametrize(
    ("because", "said"),
    [
        (None, None),
        ("the class is over", "the class is over"),
        ('Failed: {"errorMessage": "no capacity"}', "Failed: no capacity"),
        ('Failed: {"other": 1}', 'Failed: {"other": 1}'),
        ("Failed: {half", "Failed: {half"),
        ("Failed: [{}]", "Failed: [{}]"),
        ("F: {" + "x" * 400, "F: {" + "x" * 299),
    ],
)
def test_a_failed_step_is_told_by_its_message(because: str | None, said: str | None) -> None:
    told = failure(because)
    assert (told if told is None else str(told)) == said


def test_a_persons_words_are_not_read_as_a_failure_of_a_step() -> None:
    words = 'Failed: {"code":"lease.lab-destroyed"}'
    assert asked(close(because=words), LEASE).reason == words


@pytest.mark.parametrize(
    ("before", "held", "since"),
    [
        (PoolState("gpu"), False, EIGHT),
        (PoolState("gpu", idle_since=EIGHT - HOUR, looked_at=EIGHT - 15 * MINUTE), False, EIGHT - HOUR),
        (PoolState("gpu", idle_since=EIGHT - HOUR, looked_at=EIGHT - 15 * MINUTE - SECOND), False, EIGHT),
        (PoolState("gpu", idle_since=EIGHT - HOUR), False, EIGHT),
        (PoolState("gpu", looked_at=EIGHT - MINUTE), False, EIGHT),
        (PoolState("gpu", idle_since=EIGHT - HOUR, looked_at=EIGHT - MINUTE), True, None),
    ],
)
def test_idle_is_since_when_looks_found_nothing(before: PoolState, held: bool, since: Any) -> None:
    assert idle_since(before, EIGHT, held=held) == since


def test_a_lease_is_unopened_until_its_nodes_are_ordered() -> None:
    admitted = lease(state=LeaseState.ADMITTED)
    assert [unopened(one) for one in (PLANNED, admitted, replace(admitted, ordered=EIGHT), LEASE)] == [
        True, True, False, False
    ]  # fmt: skip
