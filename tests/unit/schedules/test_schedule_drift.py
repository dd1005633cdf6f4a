"""What a sweep finds about the schedules of leases, and that it starts the planner to correct them."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.guard.services import GuardServices
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.drift import Drift, Listed, drift
from lamplighter.domain.schedules.schedule import WorkflowArns
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Sentences, reason
from tests.builders.leases import EIGHT
from tests.builders.leases import lease as any_lease
from tests.unit.lab_on_moto import LabOnMoto, lab_on_moto

ARNS = WorkflowArns("open", "close", "notices")
HOUR = timedelta(hours=1)
EVENING = any_lease(
    "evening-2026-11-20", 60, 180, state=LeaseState.PLANNED, window="evening", date="2026-11-20"
)
ITS_OWN = ("close-evening-2026-11-20", "open-evening-2026-11-20", "warn-15-evening-2026-11-20")
ALL_ITS_OWN = (*ITS_OWN, "warn-5-evening-2026-11-20")


def found(*names: str, lease: Lease = EVENING, **how: Any) -> Drift:
    listed = [Listed(name, how.get("enabled", True), how.get("written")) for name in names]
    return drift(listed, [lease], ARNS, (), planned_at=EIGHT, now=how.get("now", EIGHT))


def test_schedules_as_the_leases_ask_for_are_no_drift() -> None:
    seen = found(*ALL_ITS_OWN, "failsafe-gpu-10", "curfew-gpu")
    assert not seen.any
    assert seen.reason is None


def test_a_schedule_that_was_taken_away_is_missing() -> None:
    assert found(*ITS_OWN).missing == ("warn-5-evening-2026-11-20",)
    assert found(*ITS_OWN).reason == reason("guard.schedules.missing", names=found(*ITS_OWN).missing)


def test_a_schedule_of_no_lease_is_strange() -> None:
    seen = found(*ALL_ITS_OWN, "open-tomorrow", "my-own")
    assert seen.reason == reason("guard.schedules.strange", names=("my-own", "open-tomorrow"))


def test_one_that_was_switched_off_is_said() -> None:
    seen = found(*ALL_ITS_OWN, "my-own", enabled=False)

    assert seen.disabled == tuple(sorted((*ALL_ITS_OWN, "my-own")))
    assert seen.reason == Sentences(
        (
            reason("guard.schedules.strange", names=("my-own",)),
            reason("guard.schedules.disabled", names=seen.disabled),
        )
    )


def test_one_that_was_written_since_the_planner_looked_is_looked_at_again() -> None:
    seen = found(*ALL_ITS_OWN, written=EIGHT + timedelta(seconds=1))
    assert (seen.touched, seen.reason) == (ALL_ITS_OWN, None)
    assert not found(*ALL_ITS_OWN, written=EIGHT - timedelta(seconds=1)).any
    assert found(*ALL_ITS_OWN, written=EIGHT).touched == ()


def test_what_is_being_closed_may_keep_its_schedules_for_a_moment() -> None:
    closing = replace(EVENING, state=LeaseState.CLOSING, opens=EIGHT - HOUR, closes=EIGHT)
    assert not found("close-evening-2026-11-20", lease=closing).any


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        yield made


def test_within_one_sweep_the_planner_is_woken_and_puts_everything_right(world: LabOnMoto) -> None:
    window = {"name": "evening", "nodes": 2, "days": "daily", "start": "21:00", "end": "23:00"}
    world.capacity.lab = Lab.model_validate({"name": "lab", "time_zone": "UTC", "windows": [window]})
    topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
    lease_services = world.guard_services.lease_services
    office = PlannerServices(
        lease_services, world.guard_services.workflows, Notices(topic), extend_lease=world.close_lab
    )
    plan_all(office)
    woken: list[str] = []
    watch: GuardServices = replace(world.guard_services, wake_planner=lambda: woken.append("planner"))
    scheduler = boto3.client("scheduler")
    scheduler.delete_schedule(GroupName="lab", Name="close-evening-2026-11-20")

    sweep_all(watch)
    plan_all(office)

    assert woken == ["planner"]
    said = [entry for entry in world.capacity.ledger.audit("gpu", EIGHT) if entry.kind == "rescheduled"]
    assert [(entry.who, str(entry.what)) for entry in said] == [
        ("guard", "has the planner correct the schedules"),
        ("planner", "corrected close-evening-2026-11-20"),
    ]
    assert "close-evening-2026-11-20" in [one.name for one in lease_services.windows.listed()]


@pytest.mark.parametrize(
    ("seconds", "missing"), [(-1, True), (0, False), (1, False)], ids=["before", "at", "after"]
)
def test_a_schedule_that_fires_within_three_minutes_is_not_missed(seconds: int, *, missing: bool) -> None:
    without_the_opening = [name for name in ALL_ITS_OWN if not name.startswith("open-")]
    seen = found(*without_the_opening, now=EVENING.opens - timedelta(minutes=3, seconds=-seconds))
    assert seen.missing == (("open-evening-2026-11-20",) if missing else ())


@pytest.mark.parametrize(("seconds", "missing"), [(-1, True), (0, False), (299, False), (300, True)])
def test_a_lease_that_was_just_granted_has_five_minutes_to_get_its_schedules(
    seconds: int, *, missing: bool
) -> None:
    granted = replace(EVENING, state=LeaseState.ADMITTED, ordered=EIGHT)

    seen = found(lease=granted, now=EVENING.opens + timedelta(seconds=seconds))

    assert bool(seen.missing) is missing
    planned = found(lease=EVENING, now=EVENING.opens + timedelta(seconds=1))
    assert planned.missing == ("close-evening-2026-11-20", *ITS_OWN[2:], "warn-5-evening-2026-11-20")


@pytest.mark.parametrize("state", [LeaseState.CLOSED, LeaseState.REFUSED])
@pytest.mark.parametrize(("seconds", "strange"), [(0, False), (299, False), (300, True)])
def test_what_is_over_may_keep_its_schedules_for_five_minutes(
    state: LeaseState, seconds: int, *, strange: bool
) -> None:
    over = replace(EVENING, state=state)

    at_its_end = found(ITS_OWN[0], lease=over, now=EVENING.closes + timedelta(seconds=seconds))
    closed = replace(over, closed=EVENING.closes + HOUR)
    later = found(ITS_OWN[0], lease=closed, now=EVENING.closes + HOUR + timedelta(seconds=seconds))

    assert bool(at_its_end.strange) is bool(later.strange) is strange


def test_what_runs_past_its_end_keeps_its_schedules() -> None:
    assert (
        found(ITS_OWN[0], lease=replace(EVENING, state=LeaseState.OPEN), now=EIGHT + 9 * HOUR).strange == ()
    )


@pytest.mark.parametrize(("seconds", "changed", "overdue"), [
    (300, {}, False),
    (301, {}, True),
    (301, {"state": LeaseState.ADMITTED}, True),
    (301, {"state": LeaseState.ADMITTED, "ordered": EIGHT}, False),
    (301, {"state": LeaseState.OPEN}, False),
    (7199, {}, True),
    (7200, {}, False),
])  # fmt: skip
def test_a_lease_is_overdue_five_minutes_after_its_opening_until_its_end(
    seconds: int, changed: dict[str, Any], *, overdue: bool
) -> None:
    seen = found(lease=replace(EVENING, **changed), now=EVENING.opens + timedelta(seconds=seconds))
    assert seen.overdue == ((EVENING.id,) if overdue else ())


def test_what_a_pause_keeps_closed_is_not_overdue() -> None:
    def overdue(until: timedelta | None) -> tuple[str, ...]:
        pause = Pause("alice", EIGHT, None if until is None else EVENING.opens + until)
        now = EVENING.opens + timedelta(minutes=10)
        return drift([], [EVENING], ARNS, [pause], planned_at=None, now=now).overdue

    assert (overdue(None), overdue(timedelta(minutes=30)), overdue(timedelta(minutes=4))) == (
        (),
        (),
        (EVENING.id,),
    )


def test_before_the_planner_has_looked_nothing_is_touched() -> None:
    listed = [Listed(name, True, EIGHT) for name in ALL_ITS_OWN]
    assert drift(listed, [EVENING], ARNS, (), planned_at=None, now=EIGHT).touched == ()
