"""What a sweep finds about the schedules of windows, and that the planner is woken for it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from handlers.guard import sweep_all
from handlers.guard_watch import Watch
from handlers.planner import Office, plan_all
from lamplighter.adapters.aws.notices import Notices
from lamplighter.domain.lease import Lease, LeaseState
from lamplighter.domain.money import Money
from lamplighter.domain.schedule import Doors
from lamplighter.domain.schedule_drift import Drift, Listed, drift
from lamplighter.lab import Lab
from tests.unit.lab_on_moto import EIGHT, LabOnMoto, lab_on_moto

DOORS = Doors("open", "close", "notices")
HOUR = timedelta(hours=1)
EVENING = Lease(
    id="evening-2026-11-20",
    pool="gpu",
    nodes=2,
    owner="class",
    source="window",
    state=LeaseState.PLANNED,
    opens=EIGHT + HOUR,
    closes=EIGHT + 3 * HOUR,
    hold=Money.of(1, "USD"),
    window="evening",
    date="2026-11-20",
)
ITS_OWN = ("close-evening-2026-11-20", "open-evening-2026-11-20", "warn-15-evening-2026-11-20")
ALL_ITS_OWN = (*ITS_OWN, "warn-5-evening-2026-11-20")


def found(*names: str, lease: Lease = EVENING, **how: Any) -> Drift:
    listed = [Listed(name, how.get("enabled", True), how.get("written")) for name in names]
    return drift(listed, [lease], DOORS, (), planned_at=EIGHT, now=how.get("now", EIGHT))


def test_schedules_as_the_leases_ask_for_are_no_drift() -> None:
    seen = found(*ALL_ITS_OWN, "failsafe-gpu-10", "curfew-gpu")

    assert not seen.any
    assert seen.reason == ""


def test_a_schedule_that_was_taken_away_is_missing() -> None:
    assert found(*ITS_OWN).missing == ("warn-5-evening-2026-11-20",)
    assert found(*ITS_OWN).reason == "warn-5-evening-2026-11-20 is missing"


def test_a_schedule_of_no_lease_is_strange() -> None:
    seen = found(*ALL_ITS_OWN, "open-tomorrow", "my-own")

    assert seen.reason == "my-own and open-tomorrow belong to no lease"


def test_one_that_was_switched_off_is_said() -> None:
    assert found(*ALL_ITS_OWN, enabled=False).disabled == ALL_ITS_OWN


def test_one_that_was_written_since_the_planner_looked_is_looked_at_again() -> None:
    seen = found(*ALL_ITS_OWN, written=EIGHT + timedelta(seconds=1))

    assert (seen.touched, seen.reason) == (ALL_ITS_OWN, "")
    assert not found(*ALL_ITS_OWN, written=EIGHT - timedelta(seconds=1)).any


def test_what_fires_in_a_moment_and_what_is_just_beginning_are_not_missed() -> None:
    assert not found(
        *ITS_OWN[:1], *ITS_OWN[2:], "warn-5-evening-2026-11-20", now=EIGHT + timedelta(minutes=58)
    ).any
    walk_in = replace(EVENING, state=LeaseState.ADMITTED, opens=EIGHT, window=None)
    assert not found(lease=walk_in, now=EIGHT + timedelta(minutes=1)).any


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
    desk = world.watch.desk
    office = Office(desk, world.watch.workflows, Notices(topic), extend_lease=world.close_lab)
    plan_all(office)
    woken: list[str] = []
    watch: Watch = replace(world.watch, wake_planner=lambda: woken.append("planner"))
    scheduler = boto3.client("scheduler")
    scheduler.delete_schedule(GroupName="lab", Name="close-evening-2026-11-20")

    sweep_all(watch)
    plan_all(office)

    assert woken == ["planner"]
    said = [entry for entry in world.capacity.ledger.audit("gpu", EIGHT) if entry.kind == "rescheduled"]
    assert [(entry.who, entry.what) for entry in said] == [
        ("guard", "has the schedules put right"),
        ("planner", "put right close-evening-2026-11-20"),
    ]
    assert "close-evening-2026-11-20" in [one.name for one in desk.windows.listed()]
