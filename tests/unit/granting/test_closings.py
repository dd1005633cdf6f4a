"""Which leases a close ends and when it comes too late; how long is waited; what a lease has scheduled."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting.closing import Closing, decide, failure, is_emergency, wait_for_successor
from lamplighter.domain.granting.idleness import idle_since
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.schedules.of_leases import (
    firing,
    held_back,
    opening_now,
    opens_at,
    unopened,
    wanted_schedules,
)
from lamplighter.domain.schedules.schedule import WorkflowArns
from lamplighter.errors import TryLater
from lamplighter.values.clock_time import clock_time
from tests.drawn import drawn_by
from tests.leases import EIGHT, HOUR, MINUTE, SECOND, lease

DOORS = WorkflowArns("open", "close", "notices")
LEASE = lease()
PLANNED = lease(state=LeaseState.PLANNED)


def close(**more: Any) -> Command:
    given = Command(
        "c1", Verb.CLOSE, "gpu", "alice", "alice", "cli", EIGHT, EIGHT + 15 * MINUTE, lease="evening-1"
    )
    return replace(given, **more)


def asked(command: Command, *leases: Any, opened: str | None = None, minutes: float = 1) -> Closing:
    return drawn_by(clock_time, decide(command, opened, leases, EIGHT + minutes * MINUTE))


# --- one lease -----------------------------------------------------------------------------------


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


# --- all of a pool -------------------------------------------------------------------------------

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


# --- idleness ------------------------------------------------------------------------------------


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
def test_a_pool_is_idle_since_looks_without_a_gap_found_nothing(
    before: PoolState, held: bool, since: Any
) -> None:
    assert idle_since(before, EIGHT, held=held) == since


# --- what is scheduled ---------------------------------------------------------------------------


def names(one: Any, minutes: float, *pauses: Pause) -> list[str]:
    return [shot.name for shot in wanted_schedules(one, DOORS, EIGHT + minutes * MINUTE, pauses)]


def test_a_lease_has_its_opening_its_warnings_and_its_end_scheduled_until_each_has_come() -> None:
    ahead = ["open-evening-1", "warn-15-evening-1", "warn-5-evening-1", "close-evening-1"]

    assert names(PLANNED, -0.1) == ahead
    assert names(PLANNED, 0) == ahead[1:]
    assert names(LEASE, -0.1) == ahead[1:]
    assert names(LEASE, 105) == ahead[2:]
    assert names(LEASE, 119.9) == ahead[3:]
    assert names(LEASE, 120) == []
    for state in (LeaseState.CLOSING, LeaseState.CLOSED, LeaseState.REFUSED):
        assert names(lease(state=state), 1) == []


@pytest.mark.parametrize(("seconds", "fires"), [(-1, False), (0, True), (89, True), (90, False)])
def test_what_is_due_may_be_firing_for_ninety_seconds(seconds: int, fires: bool) -> None:
    assert firing(LEASE, DOORS, LEASE.closes + seconds * SECOND) == (["close-evening-1"] if fires else [])


def pause(until: float | None, since: float = -60) -> Pause:
    return Pause("tom", EIGHT + since * MINUTE, None if until is None else EIGHT + until * MINUTE)


@pytest.mark.parametrize(
    ("pauses", "opens"),
    [
        ([], 0),
        ([pause(0)], 0),
        ([pause(30)], 30),
        ([pause(30), pause(60)], 60),
        ([pause(119)], 119),
        ([pause(120)], None),
        ([pause(None)], None),
    ],
)
def test_a_lease_opens_when_the_last_pause_ends_before_its_end(
    pauses: list[Pause], opens: int | None
) -> None:
    assert opens_at(PLANNED, pauses, EIGHT) == (None if opens is None else EIGHT + opens * MINUTE)


def test_an_opening_that_was_missed_by_five_minutes_is_started_under_another_name_each_quarter_of_an_hour() -> (
    None
):
    def name(minutes: float) -> str:
        return opening_now(PLANNED, DOORS, EIGHT + minutes * MINUTE).name

    assert name(0) == name(5) == "open-evening-1-20261120T200000Z"
    assert name(5.1) == name(14.9) == "open-evening-1-20261120T2000Z"
    assert name(15) == name(29.9) == "open-evening-1-20261120T2015Z"


@pytest.mark.parametrize(
    ("more", "pauses", "held"),
    [
        ({}, [pause(60)], True),
        ({}, [pause(60, since=0)], True),
        ({}, [pause(60, since=1)], False),
        ({}, [pause(5)], False),
        ({}, [], False),
        ({"ordered": EIGHT}, [pause(60)], False),
        ({"state": LeaseState.OPENING}, [pause(60)], False),
    ],
)
def test_a_pause_holds_back_what_was_granted_before_it_and_has_no_nodes_yet(
    more: dict[str, Any], pauses: list[Pause], held: bool
) -> None:
    one = replace(LEASE, **{"state": LeaseState.ADMITTED, **more})

    assert held_back([one], pauses, EIGHT + 5 * MINUTE) == (frozenset({"evening-1"}) if held else frozenset())


def test_a_lease_is_unopened_until_its_nodes_are_ordered() -> None:
    admitted = lease(state=LeaseState.ADMITTED)

    assert [unopened(one) for one in (PLANNED, admitted, replace(admitted, ordered=EIGHT), LEASE)] == [
        True, True, False, False
    ]  # fmt: skip
