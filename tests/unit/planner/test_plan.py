"""What the planner decides, as values: which leases to write and to take back, and what to start at once."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Pause, Skip
from lamplighter.domain.calendar.occurrences import Code, SkippedWindow
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import terms
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.price import Price, Source
from lamplighter.domain.planner.planner import Calendar, CalendarInputs, Plan, calendar, plan
from lamplighter.domain.schedules.schedule import Start, WorkflowArns, closing, open_command, opening
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Sentences, reason
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, lease

OPENS = EIGHT
DOORS = WorkflowArns("open-arn", "close-arn", "notices-arn")
LEASE = lease("evening-2026-11-20", state=LeaseState.PLANNED, window="evening", date="2026-11-20")
LATE = "open-evening-2026-11-20-20261120T2000Z"
EVENING = {"name": "evening", "nodes": 2, "days": "fri", "start": "20:00", "end": "22:00", "owner": "class"}


def planned(lease: Lease, now: datetime, *pauses: Pause) -> Plan:
    return plan([], [replace(lease, window=None)], DOORS, now, pauses)


def starts(lease: Lease, now: datetime, *pauses: Pause) -> list[str]:
    return [start.name for start in planned(lease, now, *pauses).start]


def test_a_new_window_is_written_and_scheduled() -> None:
    found = plan([LEASE], [], DOORS, OPENS - HOUR)

    assert (found.write, found.take_back, found.start, found.firing) == ((LEASE,), (), (), ())
    assert [shot.name for shot in found.schedules] == [
        f"{name}-evening-2026-11-20" for name in ("open", "warn-15", "warn-5", "close")
    ]


def test_a_window_that_stands_as_wanted_is_not_written_again() -> None:
    noted = replace(LEASE, because="noted", by="planner")
    assert plan([LEASE], [noted], DOORS, OPENS - HOUR).write == ()


@pytest.mark.parametrize("state", [each for each in LeaseState if each is not LeaseState.PLANNED])
def test_only_a_planned_lease_follows_its_window(state: LeaseState) -> None:
    moved = replace(LEASE, closes=LEASE.closes + HOUR)
    assert plan([moved], [LEASE], DOORS, OPENS - HOUR).write == (moved,)
    assert plan([moved], [replace(LEASE, state=state)], DOORS, OPENS - HOUR).write == ()
    assert plan([], [replace(LEASE, state=state)], DOORS, OPENS - HOUR).take_back == ()


def test_a_moved_window_is_scheduled_as_it_is_wanted_now() -> None:
    moved = replace(LEASE, closes=LEASE.closes + HOUR)
    found = plan([moved], [LEASE], DOORS, OPENS - HOUR)
    assert [shot.at for shot in found.schedules if shot.name.startswith("close-")] == [LEASE.closes + HOUR]


def test_a_window_that_nobody_wants_is_taken_back_and_what_a_person_asked_for_is_not() -> None:
    asked = replace(LEASE, id="cli-1", window=None)

    found = plan([], [LEASE, asked], DOORS, OPENS - HOUR)

    assert found.take_back == (LEASE,)
    assert {shot.name.split("-", 1)[0] for shot in found.schedules} == {"open", "warn", "close"}
    assert all(shot.name.endswith("cli-1") for shot in found.schedules)


def test_leases_are_scheduled_by_opening_then_by_the_order_of_their_windows() -> None:
    later = replace(LEASE, id="a", opens=OPENS + MINUTE)
    first, second = replace(LEASE, id="z", order=1), replace(LEASE, id="b", order=2)
    third = replace(LEASE, id="c", order=2)

    found = plan([later, third, second, first], [], DOORS, OPENS - HOUR)

    assert [shot.name for shot in found.schedules if shot.name.startswith("open-")] == [
        "open-z",
        "open-b",
        "open-c",
        "open-a",
    ]


@pytest.mark.parametrize(
    ("seconds", "started"),
    [
        (-91, None),
        (-90, "open"),
        (0, "open"),
        (300, "open"),
        (301, LATE),
        (7199, LATE[:-5] + "2145Z"),
        (7200, None),
        (10800, None),
    ],
)
def test_a_planned_lease_is_started_from_ninety_seconds_before(seconds: int, started: str | None) -> None:
    name = "open-evening-2026-11-20-20261120T200000Z" if started == "open" else started
    assert starts(LEASE, OPENS + seconds * SECOND) == ([name] if name else [])


def test_a_start_at_once_is_the_start_that_its_schedule_would_make() -> None:
    asked = replace(LEASE, window=None)
    assert planned(LEASE, OPENS).start == (opening(asked, DOORS),)


@pytest.mark.parametrize(("seconds", "started"), [(0, []), (300, []), (301, [LATE])])
def test_a_granted_lease_is_started_again_after_five_minutes(seconds: int, started: list[str]) -> None:
    admitted = replace(LEASE, state=LeaseState.ADMITTED)
    assert starts(admitted, OPENS + seconds * SECOND) == started
    assert starts(replace(admitted, ordered=OPENS), OPENS + seconds * SECOND) == []


@pytest.mark.parametrize("seconds", [-90, 0, 300])
def test_a_lease_granted_for_later_whose_schedule_a_pause_took_away_is_started(seconds: int) -> None:
    now = OPENS + seconds * SECOND
    granted = replace(LEASE, window=None, state=LeaseState.ADMITTED, run=open_command(LEASE).id)
    at_once = replace(granted, run="cli-open-1")

    assert plan([], [granted], DOORS, now).start == (opening(granted, DOORS),)
    # Its schedule goes by itself; whoever granted a lease for this moment is opening it.
    assert plan([], [granted], DOORS, now, present=["open-evening-2026-11-20"]).start == ()
    assert plan([], [at_once], DOORS, now).start == ()


def test_a_pause_starts_nothing_until_ninety_seconds_before_its_end() -> None:
    pause = Pause("alice", OPENS - HOUR, OPENS + 10 * MINUTE)
    assert starts(LEASE, OPENS + 8 * MINUTE, pause) == []
    assert starts(LEASE, OPENS + 8.5 * MINUTE, pause) == [LATE]
    assert starts(LEASE, OPENS + 10 * MINUTE, Pause("alice", OPENS - HOUR)) == []


@pytest.mark.parametrize("state", [LeaseState.ADMITTED, LeaseState.OPENING, LeaseState.OPEN])
def test_a_granted_lease_is_closed_at_its_end_at_once(state: LeaseState) -> None:
    lease = replace(LEASE, state=state, ordered=OPENS)

    assert starts(lease, LEASE.closes - SECOND) == []
    found = planned(lease, LEASE.closes)
    assert found.start == (closing(replace(lease, window=None), DOORS),)
    assert (found.schedules, found.firing) == ((), ("close-evening-2026-11-20",))


def test_a_close_that_takes_over_an_hour_is_begun_again_once_an_hour() -> None:
    lease = replace(LEASE, state=LeaseState.CLOSING)
    now = LEASE.closes + HOUR
    name = "close-again-evening-2026-11-20-20261120T23"

    assert planned(lease, now - SECOND).start == ()
    assert plan([LEASE], [lease], DOORS, now).start == (
        Start(
            "close-arn",
            name,
            Command(
                id=name,
                verb=Verb.CLOSE,
                pool="gpu",
                owner="class",
                by="planner",
                source="guard",
                issued=now,
                expires=now + timedelta(days=1),
                lease="evening-2026-11-20",
                because=reason("calendar.close-again", lease=LEASE.called()),
            ),
        ),
    )


@pytest.mark.parametrize("state", [LeaseState.CLOSED, LeaseState.REFUSED])
def test_what_is_over_is_neither_scheduled_nor_started(state: LeaseState) -> None:
    assert planned(replace(LEASE, state=state), OPENS) == Plan((), (), (), (), ())


def ahead(*windows: dict[str, Any], skips: tuple[Skip, ...] = (), hours: int = 36, **more: Any) -> Calendar:
    document = {"name": "lab", "time_zone": "UTC", "windows": list(windows), **more}
    lab = Lab.model_validate(document)
    own = {"gpu": terms(lab, "gpu", Price(Decimal(1), "USD", Source.LAB))}
    return calendar(lab, own, skips, OPENS - HOUR, OPENS + (hours - 1) * HOUR)


def test_a_window_becomes_a_planned_lease_with_its_hold_and_its_period() -> None:
    assert ahead(EVENING) == Calendar((LEASE,), (), {})


def test_a_skipped_date_is_left_out_and_no_other() -> None:
    daily = {**EVENING, "days": "daily"}

    def left(window: str, on: str) -> list[str | None]:
        return [lease.date for lease in ahead(daily, skips=(Skip(window, on, "alice", OPENS),)).leases]

    assert left("evening", "2026-11-20") == ["2026-11-21"]
    assert left("evening", "2026-11-21") == ["2026-11-20"]
    assert left("morning", "2026-11-20") == ["2026-11-20", "2026-11-21"]


def test_a_window_of_a_pool_without_terms_is_left_out() -> None:
    pools = {"gpu": {"max_nodes": 2}, "other": {"max_nodes": 2}}
    assert ahead({**EVENING, "pool": "other"}, pools=pools) == Calendar((), (), {})


def test_a_window_that_must_be_ready_by_its_start_keeps_that_instant() -> None:
    (lease,) = ahead({**EVENING, "ready": "by"}).leases
    assert (lease.opens, lease.ready_by, lease.hold) == (OPENS - 10 * MINUTE, OPENS, Money.of("13/3", "USD"))


def test_a_measured_warm_up_takes_the_place_of_the_stated_one() -> None:
    lab = Lab.model_validate({"name": "lab", "time_zone": "UTC", "windows": [{**EVENING, "ready": "by"}]})
    own = {"gpu": terms(lab, "gpu", Price(Decimal(1), "USD", Source.LAB))}
    beside = CalendarInputs(warm_ups={"gpu": 6 * MINUTE})

    (lease,) = calendar(lab, own, (), OPENS - HOUR, OPENS + HOUR, beside=beside).leases

    assert lease.opens == OPENS - 6 * MINUTE


def at_curfew(start: str, end: str) -> Calendar:
    return ahead({**EVENING, "start": start, "end": end}, guard={"curfew": "21:00"})


def test_a_window_ends_at_the_curfew_and_is_held_until_there() -> None:
    assert at_curfew("20:00", "22:00") == Calendar(
        (replace(LEASE, closes=OPENS + HOUR, hold=Money.of(2, "USD")),),
        (),
        {
            LEASE.id: Sentences(
                (reason("calendar.ends-at", until=reason("lease.at-curfew", at=OPENS + HOUR)),)
            )
        },
    )
    assert at_curfew("20:00", "21:00").notes == {}


def test_a_window_in_the_curfew_takes_nothing_from_the_windows_behind_it() -> None:
    within = {**EVENING, "name": "within", "start": "21:05", "end": "21:30"}
    late = {**EVENING, "name": "late", "start": "22:00", "end": "23:00"}

    found = ahead(within, late, guard={"curfew": "21:00"})

    assert [lease.window for lease in found.leases] == ["late"]
    assert [skipped.window for skipped in found.skipped] == ["within"]


@pytest.mark.parametrize(
    ("start", "opens"), [("20:59", True), ("21:00", False), ("21:09", False), ("21:10", True)]
)
def test_a_window_that_would_open_in_the_curfew_is_told_with_its_reason(start: str, *, opens: bool) -> None:
    hour, minute = map(int, start.split(":"))
    opens_at = datetime(2026, 11, 20, hour, minute, tzinfo=UTC)
    why = reason("calendar.in-curfew", opens=opens_at, pool="gpu")
    skipped = SkippedWindow("evening", "gpu", date(2026, 11, 20), Code.VANISHES, why, 0)

    found = at_curfew(start, "22:00")

    assert len(found.leases) == int(opens)
    assert found.skipped == (() if opens else (skipped,))
