"""What stands in the ledger and the schedule group after the planner ran."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import boto3
import pytest

from handlers.leases import STEPS
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.capacity import kinds
from lamplighter.application.planner.announcements import PlannerNotices
from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.drift import Listed
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Sentences, reason
from lamplighter.values import instant
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import schedules
from tests.unit.planner.test_plan import LEASE

# Eight in the evening (UTC) of Friday 2026-11-20; the evening window opens an hour later.
EVENING = {"name": "evening", "nodes": 2, "days": "daily", "start": "21:00", "end": "23:00"}
LATE = {"name": "late", "nodes": 2, "days": "daily", "start": "23:00", "end": "24:00"}


def deployed(lab: LabOnMoto, *windows: dict[str, Any], **more: Any) -> PlannerServices:
    """The lab as a deploy with these windows leaves it."""
    document = {"name": "lab", "time_zone": "UTC", "windows": list(windows), **more}
    lab.capacity.lab = Lab.model_validate(document)
    lab.capacity.capacities = kinds.of_lab(lab.capacity.lab)
    topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
    return PlannerServices(
        lab.guard_services.lease_services,
        lab.guard_services.workflows,
        Notices(topic),
        extend_lease=lab.close_lab,
    )


def test_the_windows_of_the_next_36_hours_are_planned_with_their_schedules(lab: LabOnMoto) -> None:
    planner = deployed(lab, EVENING)
    plan_all(planner)

    leases = lab.capacity.ledger.leases("gpu")
    assert [(lease.id, lease.state, lease.hold.currency) for lease in leases] == [
        (f"evening-2026-11-{day}", LeaseState.PLANNED, "USD") for day in (20, 21)
    ]
    times = {"open": "21:00", "warn-15": "22:45", "warn-5": "22:55", "close": "23:00"}
    assert schedules() == {
        f"{name}-evening-2026-11-{day}": f"at(2026-11-{day}T{at}:00)"
        for day in (20, 21)
        for name, at in times.items()
    }
    assert plan_all(planner) == {"planned": [], "started": [], "unscheduled": [], "unknown": []}


def test_a_window_is_planned_from_36_hours_before_its_opening(lab: LabOnMoto) -> None:
    sunday = {"nodes": 1, "days": "sun", "end": "10:00"}

    plan_all(
        deployed(lab, {**sunday, "name": "in", "start": "07:59"}, {**sunday, "name": "out", "start": "08:00"})
    )

    assert [lease.id for lease in lab.capacity.ledger.leases("gpu")] == ["in-2026-11-22"]


def test_a_warning_that_is_about_to_fire_is_left_alone(lab: LabOnMoto) -> None:
    """Scheduler takes up to a minute; a planner that comes in that minute must not take the warning away."""
    office = deployed(lab, EVENING)
    plan_all(office)
    lab.at(60)
    first = lab.capacity.ledger.lease("gpu", "evening-2026-11-20")
    assert first is not None
    run = {"command": open_command(first).to_json(), "results": {}}
    assert STEPS["Admit"](run, office.lease_services)["outcome"] == "granted"

    lab.at(165.5)
    plan_all(office)
    assert "warn-15-evening-2026-11-20" in schedules()

    lab.at(167)
    plan_all(office)
    assert "warn-15-evening-2026-11-20" not in schedules()


def test_what_somebody_did_to_the_schedules_is_put_right(lab: LabOnMoto) -> None:
    office = deployed(lab, EVENING)
    plan_all(office)
    before = schedules()
    scheduler = boto3.client("scheduler")
    scheduler.delete_schedule(GroupName="lab", Name="close-evening-2026-11-20")
    found = scheduler.get_schedule(GroupName="lab", Name="open-evening-2026-11-20")
    target: Any = found["Target"]
    for name in ("open-evening-2026-11-20", "open-stranger"):
        put = scheduler.update_schedule if name == "open-evening-2026-11-20" else scheduler.create_schedule
        put(
            GroupName="lab",
            Name=name,
            ScheduleExpression="at(2026-11-20T20:30:00)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target=target,
        )

    plan_all(office)

    assert schedules() == before


def test_a_window_taken_out_of_the_lab_is_taken_back_and_a_running_one_is_not(lab: LabOnMoto) -> None:
    office = deployed(lab, EVENING)
    plan_all(office)
    lab.at(60)
    first = lab.capacity.ledger.lease("gpu", "evening-2026-11-20")
    assert first is not None
    run = {"command": open_command(first).to_json(), "results": {}}
    assert STEPS["Admit"](run, office.lease_services)["outcome"] == "granted"

    lab.at(62)
    plan_all(deployed(lab))

    left = {lease.id: lease.state for lease in lab.capacity.ledger.leases("gpu")}
    assert left == {"evening-2026-11-20": LeaseState.ADMITTED}
    names = [name for name in schedules() if not name.startswith("failsafe")]
    wanted = ["close-evening-2026-11-20", "warn-15-evening-2026-11-20", "warn-5-evening-2026-11-20"]
    assert sorted(names) == wanted


def test_a_moved_window_moves_its_lease_and_its_schedules(lab: LabOnMoto) -> None:
    plan_all(deployed(lab, EVENING))
    plan_all(deployed(lab, {**EVENING, "start": "21:30"}))
    assert lab.capacity.ledger.leases("gpu")[0].opens == EIGHT + timedelta(minutes=90)
    assert schedules()["open-evening-2026-11-20"] == "at(2026-11-20T21:30:00)"


def test_a_window_whose_opening_was_missed_is_started_at_once(lab: LabOnMoto) -> None:
    lab.at(70)
    assert plan_all(deployed(lab, EVENING))["started"] == ["open-evening-2026-11-20-20261120T2100Z"]
    assert "open-evening-2026-11-20" not in schedules()


def test_a_lease_whose_close_was_lost_is_closed_at_once(lab: LabOnMoto) -> None:
    lab.lease(opens=-60, closes=-5)
    assert plan_all(deployed(lab))["started"] == ["close-cli-1-20261120T195500Z"]
    assert [command["lease"] for command in lab.closes] == ["cli-1"]


def test_a_window_that_vanishes_in_a_clock_change_is_said_aloud(lab: LabOnMoto) -> None:
    early = datetime(2026, 3, 8, 0, 0, tzinfo=UTC)
    lab.at((early - EIGHT) / timedelta(minutes=1))
    gap = {"name": "gap", "days": "daily", "start": "02:00", "end": "03:00", "time_zone": "America/New_York"}

    plan_all(deployed(lab, gap))

    said = [entry for entry in lab.capacity.ledger.audit("gpu", early) if entry.kind == "skipped"]
    assert [entry.what for entry in said] == [
        reason("calendar.trail.not-opening", window="gap", date=date(2026, 3, 8))
    ]


def test_a_window_that_only_a_calendar_names_ends_at_the_curfew_or_does_not_open(lab: LabOnMoto) -> None:
    # `check` would refuse both; what a course calendar names is not known to it.
    within = {"name": "within", "nodes": 1, "days": "daily", "start": "22:05", "end": "22:30"}
    curfew = {"guard": {"curfew": "22:00"}}

    plan_all(deployed(lab, EVENING, within, **curfew))

    leases = lab.capacity.ledger.leases("gpu")
    assert {(lease.window, f"{lease.closes:%H:%M}") for lease in leases} == {("evening", "22:00")}
    audit = lab.capacity.ledger.audit("gpu", EIGHT)
    assert next(entry.why for entry in audit if entry.kind == "planned") == Sentences(
        (reason("calendar.ends-at", until=reason("lease.at-curfew", at=EIGHT + timedelta(hours=2))),)
    )
    assert next(entry.why for entry in audit if entry.kind == "skipped") == reason(
        "calendar.in-curfew", opens=EIGHT + timedelta(hours=2, minutes=5), pool="gpu"
    )


def test_the_lab_stands_in_the_ledger(lab: LabOnMoto) -> None:
    plan_all(deployed(lab, EVENING, LATE))
    document = lab.capacity.ledger.document()
    assert document is not None
    assert [window.name for window in Lab.from_json(document).windows] == ["evening", "late"]


def test_what_an_adopted_pool_leaves_out_is_read_from_its_node_group(lab: LabOnMoto) -> None:
    window = {"name": "evening", "days": "daily", "start": "21:00", "end": "23:00"}
    adopted = {"cluster": {"existing": "lab"}, "pools": {"gpu": {"existing": "lab-ng-gpu"}}}
    group = boto3.client("eks").describe_nodegroup(clusterName="lab", nodegroupName="lab-ng-gpu")["nodegroup"]

    done = plan_all(deployed(lab, window, **adopted))

    kept = Lab.from_json(str(lab.capacity.ledger.document()))
    assert done["unknown"] == []
    assert kept.pools["gpu"].max_nodes == group["scalingConfig"]["maxSize"]
    assert kept.pools["gpu"].instance_type == group["instanceTypes"][0]
    assert {lease.nodes for lease in lab.capacity.ledger.leases("gpu")} == {group["scalingConfig"]["maxSize"]}
    assert all(lease.hold.amount for lease in lab.capacity.ledger.leases("gpu"))


def test_a_pool_whose_node_group_is_not_there_gets_no_windows_and_says_so(lab: LabOnMoto) -> None:
    adopted = {"cluster": {"existing": "lab"}, "pools": {"gpu": {"existing": "other"}}}
    done = plan_all(deployed(lab, EVENING, **adopted))
    assert done["planned"] == []
    assert done["unknown"] == ["pool gpu: node group other is not in cluster lab; was it deleted?"]


def test_a_lease_granted_meanwhile_is_scheduled(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    office = deployed(lab)
    opens = instant.written(EIGHT + timedelta(hours=1))
    asked = {**lab.command(lease=None), "opens": opens, "for_seconds": 3600, "nodes": 1}
    listed = office.lease_services.windows.listed

    def while_it_lists() -> list[Listed]:
        STEPS["Admit"]({"command": asked, "results": {}}, office.lease_services)
        return listed()

    monkeypatch.setattr(office.lease_services.windows, "listed", while_it_lists)
    plan_all(office)

    [lease] = lab.capacity.ledger.leases("gpu")
    assert f"open-{lease.id}" in schedules()
    assert f"close-{lease.id}" in schedules()


def test_a_refusal_that_an_older_release_sent_as_a_sentence_is_not_sent_again(lab: LabOnMoto) -> None:
    services = deployed(lab, EVENING, LATE)
    ledger = lab.capacity.ledger
    planner_notices = PlannerNotices(lab.capacity.lab, ledger, services.notices, EIGHT)
    refused = replace(LEASE, refusal=reason("lease.too-many-nodes", nodes=4, pool="gpu", most=2))

    planner_notices.outlook(refused, "pool gpu is full at 21:00 UTC on 2026-11-20")
    assert ledger.audit("gpu", EIGHT) == []

    planner_notices.outlook(refused, None)
    planner_notices.outlook(replace(refused, refusal=None), "pool gpu is full at 21:00 UTC on 2026-11-20")
    first, second = ledger.audit("gpu", EIGHT)
    assert (first.kind, first.why) == ("foreseen", refused.refusal)
    assert second.why == reason("calendar.no-longer", before="pool gpu is full at 21:00 UTC on 2026-11-20")
