"""Every schedule of a lease: when it runs, its target, what it sends, and how long Scheduler retries it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.of_leases import (
    firing,
    held_back,
    opening_now,
    opens_at,
    schedule_instants,
    wanted_schedules,
)
from lamplighter.domain.schedules.schedule import (
    Schedule,
    WorkflowArns,
    close_command,
    names_of,
    open_command,
    warn_schedules,
)
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.builders.leases import lease as any_lease

OPENS = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
DOORS = WorkflowArns("open-arn", "close-arn", "notices-arn")
THREE = (30 * MINUTE, 15 * MINUTE, 5 * MINUTE)
LEASE = any_lease(
    "evening-2026-11-20", state=LeaseState.PLANNED, window="evening", date="2026-11-20", because="the lab"
)
OPEN = Command(
    id="open-evening-2026-11-20-20261120T200000Z",
    verb=Verb.OPEN,
    pool="gpu",
    owner="class",
    by="window evening",
    source="window",
    issued=OPENS,
    expires=OPENS + 2 * HOUR,
    lease="evening-2026-11-20",
    nodes=2,
    opens=OPENS,
    closes=OPENS + 2 * HOUR,
    window="evening",
    date="2026-11-20",
    because="the lab",
)
CLOSE = replace(
    OPEN,
    id="close-evening-2026-11-20-2026-11-20T22:00:00Z",
    verb=Verb.CLOSE,
    issued=OPENS + 2 * HOUR,
    expires=OPENS + 26 * HOUR,
    nodes=None,
    opens=None,
    because=reason("lease.ended-at", lease=reason("lease.of-window", window="evening"), at=OPENS + 2 * HOUR),
)


def lasting(minutes: float, **more: Any) -> Lease:
    return replace(LEASE, closes=OPENS + minutes * MINUTE, **more)


def starting(workflow: str, name: str, command: Command) -> str:
    sent = {"command": command.to_json()}
    return json.dumps({"StateMachineArn": workflow, "Name": name, "Input": json.dumps(sent)})


def warning(name: str, at: datetime, retried: timedelta = 5 * MINUTE) -> Schedule:
    sent = {"step": "Warn", "run": {"command": CLOSE.to_json(), "results": {}}}
    return Schedule(name, at, "notices-arn", json.dumps(sent), retried)


def planned(lease: Lease, now: datetime, *pauses: Pause) -> list[tuple[str, datetime]]:
    shots = [(shot.name, shot.at) for shot in wanted_schedules(lease, DOORS, now, pauses)]
    # Who compares schedules only asks for their instants.
    instants = schedule_instants(lease, DOORS, now, pauses)
    assert shots == [(name, at) for name, at in instants.items() if at > now]
    return shots


def test_a_planned_window_has_an_opening_two_warnings_and_a_close() -> None:
    start = "arn:aws:scheduler:::aws-sdk:sfn:startExecution"
    opening = starting("open-arn", OPEN.id, OPEN)
    closing = starting("close-arn", "close-evening-2026-11-20-20261120T220000Z", CLOSE)

    assert wanted_schedules(LEASE, DOORS, OPENS - HOUR) == [
        Schedule("open-evening-2026-11-20", OPENS, start, opening, HOUR),
        warning("warn-15-evening-2026-11-20", OPENS + 105 * MINUTE),
        warning("warn-5-evening-2026-11-20", OPENS + 115 * MINUTE),
        Schedule("close-evening-2026-11-20", OPENS + 2 * HOUR, start, closing, HOUR),
    ]


def test_a_window_is_checked_again_before_it_opens_where_the_lab_asks_for_it() -> None:
    looks = replace(DOORS, doctor="doctor-arn", looks=(30 * MINUTE, 24 * HOUR))
    sent = json.dumps({"look": {"pool": "gpu", "lease": LEASE.id}})

    wanted = wanted_schedules(LEASE, looks, OPENS - 36 * HOUR)

    assert wanted[:2] == [
        Schedule("look-1440-evening-2026-11-20", OPENS - 24 * HOUR, "doctor-arn", sent, HOUR),
        # No delivery is tried after the opening.
        Schedule("look-30-evening-2026-11-20", OPENS - 30 * MINUTE, "doctor-arn", sent, 30 * MINUTE),
    ]
    assert wanted[2:] == wanted_schedules(LEASE, DOORS, OPENS - 36 * HOUR)
    instants = schedule_instants(LEASE, looks, OPENS - HOUR, ())
    assert {shot.name: shot.at for shot in wanted} == instants
    assert set(instants) < set(names_of(LEASE.id, looks))


@pytest.mark.parametrize("more", [{"window": None}, {"state": LeaseState.OPEN}, {"state": LeaseState.CLOSED}])
def test_only_a_window_that_is_ahead_is_checked_again(more: dict[str, Any]) -> None:
    looks = replace(DOORS, doctor="doctor-arn", looks=(30 * MINUTE,))
    wanted = wanted_schedules(replace(LEASE, **more), looks, OPENS - HOUR)
    assert not [shot for shot in wanted if shot.name.startswith("look-")]


def test_a_pause_that_outlasts_a_window_leaves_nothing_to_check() -> None:
    looks = replace(DOORS, doctor="doctor-arn", looks=(30 * MINUTE,))
    wanted = wanted_schedules(LEASE, looks, OPENS - HOUR, [Pause("alice", OPENS - 2 * HOUR)])
    assert not [shot for shot in wanted if shot.name.startswith("look-")]


def test_what_a_person_asked_for_is_opened_in_their_name_and_closed_for_its_owner() -> None:
    asked = replace(LEASE, window=None, date=None, owner="alice", by="bob", because="homework")

    assert open_command(asked) == replace(
        OPEN, window=None, date=None, owner="alice", by="bob", because="homework"
    )
    assert close_command(asked) == replace(
        CLOSE,
        window=None,
        date=None,
        owner="alice",
        by="alice",
        because=reason("lease.ended-at", lease=reason("lease.of-owner", owner="alice"), at=OPENS + 2 * HOUR),
    )


def test_a_close_is_good_for_a_day_and_an_opening_until_the_end() -> None:
    assert close_command(LEASE).expires - LEASE.closes == timedelta(days=1)
    assert open_command(LEASE).expires == LEASE.closes


def test_the_name_of_a_start_is_no_longer_than_step_functions_takes() -> None:
    long = replace(LEASE, id="x" * 80)
    assert open_command(long).id == f"open-{'x' * 75}"
    assert opening_now(long, DOORS, OPENS + 6 * MINUTE).name == f"open-{'x' * 75}"


def test_every_name_of_a_schedule_is_one_that_scheduler_takes() -> None:
    """Of the longest window with an event of a calendar, a day ahead."""
    day, hour = timedelta(days=1), timedelta(hours=1)
    arns = replace(DOORS, looks=(day, 2 * hour), warnings=(day, hour))
    names = names_of(f"{'w' * 40}-2026-12-01-abcd", arns)

    assert max(map(len, names)) == 64
    assert len({*names}) == len(names) == 7


@pytest.mark.parametrize(
    ("minutes", "retried"), [(0.5, MINUTE), (1, MINUTE), (2, 2 * MINUTE), (59, 59 * MINUTE), (61, HOUR)]
)
def test_an_opening_is_retried_until_the_end_of_its_lease_or_an_hour(
    minutes: float, retried: timedelta
) -> None:
    assert wanted_schedules(lasting(minutes), DOORS, OPENS - HOUR)[0].retried == retried


@pytest.mark.parametrize(("minutes", "warned"), [
    (60, [(15, 45, 5), (5, 55, 5)]),
    (30, [(15, 15, 5), (5, 25, 5)]),
    # Half-way through a lease of twenty minutes: ten minutes before its end.
    (20, [(15, 10, 5), (5, 15, 5)]),
    (11, [(15, 5.5, 5), (5, 6, 5)]),
    # Both warnings would come half-way: one is enough.
    (10, [(15, 5, 5)]),
    (8, [(15, 4, 4)]),
    (1, [(15, 0.5, 1)]),
])  # fmt: skip
def test_warnings_come_before_the_end_and_never_before_half_of_the_lease(
    minutes: float, warned: list[tuple[int, float, int]]
) -> None:
    assert [(shot.name, shot.at, shot.retried) for shot in warn_schedules(lasting(minutes), DOORS)] == [
        (f"warn-{ahead}-evening-2026-11-20", OPENS + at * MINUTE, retried * MINUTE)
        for ahead, at, retried in warned
    ]


def test_a_lab_with_its_own_warnings_is_warned_in_order_once_each() -> None:
    workflow_arns = replace(DOORS, warnings=(2 * MINUTE, 30 * MINUTE, 2 * MINUTE))

    assert [shot.name for shot in warn_schedules(LEASE, workflow_arns)] == [
        "warn-30-evening-2026-11-20",
        "warn-2-evening-2026-11-20",
    ]
    short = [(shot.name, shot.at) for shot in warn_schedules(lasting(20), replace(DOORS, warnings=THREE))]
    assert short == [
        ("warn-30-evening-2026-11-20", OPENS + 10 * MINUTE),
        ("warn-5-evening-2026-11-20", OPENS + 15 * MINUTE),
    ]
    assert names_of("x", DOORS) == ("open-x", "warn-x", "warn-15-x", "warn-5-x", "close-x")


def test_a_schedule_is_wanted_until_the_instant_it_fires() -> None:
    assert next(name for name, _ in planned(LEASE, OPENS - timedelta(seconds=1))) == "open-evening-2026-11-20"
    assert [name for name, _ in planned(LEASE, OPENS)] == [
        "warn-15-evening-2026-11-20",
        "warn-5-evening-2026-11-20",
        "close-evening-2026-11-20",
    ]
    assert planned(LEASE, LEASE.closes) == []


@pytest.mark.parametrize(("seconds", "fires"), [(-1, False), (0, True), (89, True), (90, False)])
def test_a_schedule_that_is_due_has_ninety_seconds_to_fire(seconds: int, *, fires: bool) -> None:
    due = firing(LEASE, DOORS, OPENS + timedelta(seconds=seconds))
    assert due == (["open-evening-2026-11-20"] if fires else [])


@pytest.mark.parametrize(("state", "ordered", "names"), [
    (LeaseState.PLANNED, None, ["open", "warn-15", "warn-5", "close"]),
    (LeaseState.ADMITTED, None, ["open", "warn-15", "warn-5", "close"]),
    (LeaseState.ADMITTED, OPENS, ["warn-15", "warn-5", "close"]),
    (LeaseState.OPENING, OPENS, ["warn-15", "warn-5", "close"]),
    (LeaseState.OPEN, OPENS, ["warn-15", "warn-5", "close"]),
    (LeaseState.CLOSING, OPENS, []),
    (LeaseState.CLOSED, OPENS, []),
    (LeaseState.REFUSED, None, []),
])  # fmt: skip
def test_only_what_is_still_to_be_opened_has_an_opening_and_what_is_closed_has_none(
    state: LeaseState, ordered: datetime | None, names: Sequence[str]
) -> None:
    lease = replace(LEASE, state=state, ordered=ordered)
    found = [name for name, _ in planned(lease, OPENS - HOUR)]
    assert found == [f"{name}-evening-2026-11-20" for name in names]


@pytest.mark.parametrize(("pauses", "opens"), [
    ([], 0),
    ([-5], 0),
    ([0], 0),
    ([10], 10),
    ([119], 119),
    ([120], None),
    ([None], None),
    # One pause follows the other: the later end counts.
    ([10, 30], 30),
])  # fmt: skip
def test_a_lease_opens_when_the_last_pause_ends_if_anything_of_it_is_left(
    pauses: list[int | None], opens: int | None
) -> None:
    there = [
        Pause("alice", OPENS - HOUR, None if until is None else OPENS + until * MINUTE) for until in pauses
    ]

    at = opens_at(LEASE, there, OPENS - HOUR)

    assert at == (None if opens is None else OPENS + opens * MINUTE)


def test_a_pause_moves_the_opening_and_gives_its_start_another_name() -> None:
    pause = Pause("alice", OPENS - HOUR, OPENS + 10 * MINUTE)
    late = "open-evening-2026-11-20-20261120T2010Z"

    shot = wanted_schedules(LEASE, DOORS, OPENS - HOUR, [pause])[0]

    assert (shot.name, shot.at, shot.retried) == ("open-evening-2026-11-20", OPENS + 10 * MINUTE, HOUR)
    assert shot.input == starting("open-arn", late, replace(OPEN, id=late))
    endless = Pause("alice", OPENS - HOUR)
    assert [name for name, _ in planned(LEASE, OPENS - HOUR, endless)] == [
        "warn-15-evening-2026-11-20",
        "warn-5-evening-2026-11-20",
        "close-evening-2026-11-20",
    ]


@pytest.mark.parametrize(("seconds", "name"), [
    (-60, OPEN.id),
    (0, OPEN.id),
    (300, OPEN.id),
    # All sweeps within a quarter of an hour share one start.
    (301, "open-evening-2026-11-20-20261120T2000Z"),
    (899, "open-evening-2026-11-20-20261120T2000Z"),
    (900, "open-evening-2026-11-20-20261120T2015Z"),
    (3540, "open-evening-2026-11-20-20261120T2045Z"),
])  # fmt: skip
def test_an_opening_that_was_missed_is_started_under_a_name_of_its_quarter_hour(
    seconds: int, name: str
) -> None:
    start = opening_now(LEASE, DOORS, OPENS + timedelta(seconds=seconds))
    assert (start.workflow, start.name, start.command.id) == ("open-arn", name, name)


@pytest.mark.parametrize(("paused_at", "until", "state", "ordered", "held"), [
    (-1, 60, LeaseState.ADMITTED, None, True),
    (0, 60, LeaseState.ADMITTED, None, True),
    (1, 60, LeaseState.ADMITTED, None, False),
    (-1, 60, LeaseState.ADMITTED, OPENS, False),
    (-1, 60, LeaseState.OPENING, None, False),
    (-1, 5, LeaseState.ADMITTED, None, False),
])  # fmt: skip
def test_a_pause_holds_back_what_was_granted_and_not_ordered_before_it(
    paused_at: int, until: int, state: LeaseState, ordered: datetime | None, *, held: bool
) -> None:
    lease = replace(LEASE, state=state, ordered=ordered)
    pause = Pause("alice", OPENS + paused_at * MINUTE, OPENS + until * MINUTE)
    found = held_back([lease], [pause], OPENS + 5 * MINUTE)
    assert found == (frozenset({lease.id}) if held else frozenset())


def test_a_close_names_the_instant_that_it_is_for() -> None:
    assert close_command(lasting(90)).id == f"close-{LEASE.id}-{instant.written(OPENS + 90 * MINUTE)}"
