"""What people change without a deploy: skips, pauses, leases ahead, and closing everything."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from handlers.leases import STEPS
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.lab.model import Lab
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.drawn import sentence
from tests.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto, lab_on_moto

# It is eight in the evening (UTC) of Friday 2026-11-20.
EVENING = {"name": "evening", "nodes": 2, "days": "daily", "start": "21:00", "end": "23:00"}
TODAY, TOMORROW = "2026-11-20", "2026-11-21"
AT_NINE = f"evening-{TODAY}"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        yield made


def deployed(world: LabOnMoto, *windows: dict[str, Any]) -> PlannerServices:
    """The lab as a deploy with these windows leaves it, planned."""
    document = {"name": "lab", "time_zone": "UTC", "windows": list(windows)}
    world.capacity.lab = Lab.model_validate(document)
    topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
    office = PlannerServices(
        world.guard_services.lease_services,
        world.guard_services.workflows,
        Notices(topic),
        extend_lease=world.close_lab,
    )
    plan_all(office)
    return office


def change(world: LabOnMoto, verb: str, name: str = "", **more: object) -> dict[str, Any]:
    command = {**world.command(verb, lease=None), "pool": "*", "id": f"{verb}-{name}", **more}
    return STEPS["Change"]({"command": command}, world.guard_services.lease_services)


def admit(world: LabOnMoto, command: dict[str, object]) -> dict[str, Any]:
    return STEPS["Admit"]({"command": command, "results": {}}, world.guard_services.lease_services)


def walks_in(world: LabOnMoto, name: str = "open-1", **more: object) -> dict[str, Any]:
    asked = {"opens": None, "closes": None, "lease": None, "for_seconds": 3600, "nodes": 1, "id": name}
    return admit(world, {**world.command(), **asked, **more})


def lease(world: LabOnMoto, lease_id: str = AT_NINE) -> Lease:
    found = world.capacity.ledger.lease("gpu", lease_id)
    assert found is not None
    return found


def planned(world: LabOnMoto) -> list[str]:
    return [one.id for one in world.capacity.ledger.leases("gpu") if one.state is LeaseState.PLANNED]


def schedules() -> dict[str, str]:
    scheduler = boto3.client("scheduler")
    found = scheduler.list_schedules(GroupName="lab")["Schedules"]
    return {
        each["Name"]: scheduler.get_schedule(GroupName="lab", Name=each["Name"])["ScheduleExpression"]
        for each in found
        if each["Name"].startswith("open-")
    }


def trail(world: LabOnMoto, kind: str) -> list[str]:
    return [str(entry.what) for entry in world.capacity.ledger.audit("gpu", EIGHT) if entry.kind == kind]


def test_a_skip_without_a_date_is_the_next_opening_and_takes_its_lease_back(world: LabOnMoto) -> None:
    office = deployed(world, EVENING)

    answer = change(world, "skip", window="evening", because="of the holiday")
    plan_all(office)

    assert (answer["outcome"], answer["calendar"]) == ("skipped", True)
    assert sentence(answer["reason"], "UTC") == (
        "evening does not open at 21:00 on 2026-11-20 (UTC): alice skipped it because of the holiday"
    )
    assert planned(world) == [f"evening-{TOMORROW}"]
    assert list(schedules()) == [f"open-evening-{TOMORROW}"]
    assert trail(world, "skipped") == ["skipped evening on 2026-11-20"]


def test_the_same_skip_twice_is_one_and_a_second_one_changes_nothing(world: LabOnMoto) -> None:
    deployed(world, EVENING)

    first = change(world, "skip", window="evening", date=TODAY)
    again = change(world, "skip", window="evening", date=TODAY)
    another = change(world, "skip", "2", window="evening", date=TODAY, by="bob")

    assert again == first
    assert another["outcome"] == "unchanged"
    assert sentence(another["reason"]) == "alice skipped evening on 2026-11-20"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"window": "morning"}, "the lab has no window 'morning'; it has evening"),
        ({"window": "evening", "date": "today"}, "'today' is not a date: write it like 2026-12-01"),
        (
            {"window": "evening", "date": "2026-11-19"},
            "evening does not open on 2026-11-19; it opens next on 2026-11-20",
        ),
    ],
)
def test_what_cannot_be_skipped_is_refused_with_the_reason(
    world: LabOnMoto, asked: dict[str, str], reason: str
) -> None:
    deployed(world, EVENING)

    answer = change(world, "skip", **asked)

    assert (answer["outcome"], sentence(answer["reason"])) == ("refused", reason)
    assert trail(world, "refused") == []


def test_what_runs_is_closed_and_not_skipped(world: LabOnMoto) -> None:
    deployed(world, EVENING)
    world.at(60)
    assert admit(world, open_command(lease(world)).to_json())["outcome"] == "granted"

    answer = change(world, "skip", window="evening", date=TODAY)

    assert answer["outcome"] == "refused"
    assert sentence(answer["reason"]).endswith("to end it, run: lamplighter close evening-2026-11-20")


def test_an_opening_that_was_under_way_when_its_window_was_skipped_gets_nothing(world: LabOnMoto) -> None:
    deployed(world, EVENING)
    command = open_command(lease(world)).to_json()
    change(world, "skip", window="evening", date=TODAY)
    world.at(60)

    answer = admit(world, command)

    assert answer["outcome"] == "refused"
    assert sentence(answer["reason"]) == "alice skipped evening on 2026-11-20"


def test_a_skip_taken_back_opens_the_window_after_all_late_if_need_be(world: LabOnMoto) -> None:
    office = deployed(world, EVENING)
    change(world, "skip", window="evening")
    plan_all(office)
    world.at(90)

    answer = change(world, "unskip", window="evening")
    done = plan_all(office)

    assert answer["outcome"] == "unskipped"
    assert sentence(answer["reason"]) == "evening opens now, late: alice took its skip back"
    assert done["started"] == [f"open-{AT_NINE}-20261120T2130Z"]
    assert admit(world, open_command(lease(world)).to_json())["outcome"] == "granted"
    assert change(world, "unskip", "2", window="evening")["outcome"] == "unchanged"


def test_while_the_lab_is_paused_nobody_opens_anything_and_is_told_until_when(world: LabOnMoto) -> None:
    deployed(world)
    until = instant.written(EIGHT + timedelta(hours=2))

    answer = change(world, "pause", closes=until, because="of the driver")
    refused = walks_in(world)

    paused = "alice paused the lab until 22:00 on 2026-11-20 (UTC) because of the driver"
    assert sentence(answer["reason"], "UTC") == paused
    assert refused["outcome"] == "refused"
    assert sentence(refused["reason"], "UTC") == paused
    assert refused["earliest"] == until
    world.at(120)
    assert walks_in(world, "open-2")["outcome"] == "granted"


def test_what_runs_when_the_lab_is_paused_runs_on(world: LabOnMoto) -> None:
    deployed(world)
    mine = walks_in(world)["lease"]
    world.capacity.ledger.advance("gpu", mine["id"], LeaseState.OPENING, EIGHT)

    answer = change(world, "pause")

    assert sentence(answer["reason"], "UTC") == (
        "alice paused the lab: nothing opens until somebody resumes it; "
        "alice's lease runs on until 21:00 on 2026-11-20 (UTC)"
    )
    assert world.capacity.target("gpu", None).nodes == 1


def test_a_window_whose_time_comes_in_a_pause_opens_when_it_ends(world: LabOnMoto) -> None:
    office = deployed(world, EVENING)

    answer = change(world, "pause", closes=instant.written(EIGHT + timedelta(minutes=90)))
    plan_all(office)

    assert "the evening lease opens late, at 21:30" in sentence(answer["reason"], "UTC")
    assert schedules()[f"open-{AT_NINE}"] == "at(2026-11-20T21:30:00)"
    world.at(60)
    early = admit(world, open_command(lease(world)).to_json())
    assert early["outcome"] == "refused"
    assert lease(world).state is LeaseState.PLANNED
    world.at(90)
    assert admit(world, open_command(lease(world)).to_json())["outcome"] == "granted"


def test_a_window_still_running_when_the_lab_is_resumed_opens_late(world: LabOnMoto) -> None:
    office = deployed(world, EVENING)
    change(world, "pause")
    plan_all(office)
    assert f"open-{AT_NINE}" not in schedules()
    world.at(100)
    assert plan_all(office)["started"] == []

    answer = change(world, "resume")
    done = plan_all(office)

    assert answer["outcome"] == "resumed"
    assert "the evening lease opens now, late" in sentence(answer["reason"])
    assert done["started"] == [f"open-{AT_NINE}-20261120T2130Z"]
    assert change(world, "resume", "2")["outcome"] == "unchanged"


def test_a_window_that_went_by_in_a_pause_is_said_once(world: LabOnMoto) -> None:
    office = deployed(world, EVENING)
    change(world, "pause")
    plan_all(office)
    world.at(200)

    plan_all(office)
    plan_all(office)

    assert trail(world, "missed") == ["window evening did not open on 2026-11-20"]


def test_a_lease_granted_ahead_waits_for_the_end_of_a_pause(world: LabOnMoto) -> None:
    office = deployed(world)
    ahead = walks_in(world, opens=instant.written(EIGHT + timedelta(minutes=30)), for_seconds=7200)
    change(world, "pause")
    plan_all(office)
    mine = lease(world, ahead["lease"]["id"])
    world.at(30)

    kept = admit(world, open_command(mine).to_json())
    change(world, "resume")
    world.at(60)
    done = plan_all(office)
    opened = admit(world, open_command(mine).to_json())

    assert kept["outcome"] == "refused"
    assert done["started"] == [f"open-{mine.id}-20261120T2100Z"]
    assert opened["outcome"] == "granted"


def test_a_lease_far_ahead_gives_way_to_the_windows_of_that_day(world: LabOnMoto) -> None:
    deployed(world, EVENING)
    wednesday = EIGHT + timedelta(days=5)

    refused = walks_in(world, opens=instant.written(wednesday), for_seconds=7200)
    granted = walks_in(world, "open-2", opens=instant.written(wednesday), for_seconds=3600, nodes=2)

    assert refused["outcome"] == "refused"
    assert "the evening lease (2)" in sentence(refused["reason"])
    assert (granted["outcome"], granted["later"]) == ("granted", True)


def test_nobody_is_promised_nodes_for_the_year_after_next(world: LabOnMoto) -> None:
    deployed(world)

    refused = walks_in(world, opens=instant.written(EIGHT + timedelta(days=400)))

    assert sentence(refused["reason"]).endswith("no lease is granted more than a year ahead")


def test_a_pause_that_comes_between_reading_and_granting_is_not_overlooked(
    world: LabOnMoto, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed(world)
    change(world, "pause", because="exam")
    ledger = world.capacity.ledger
    pauses, reads = ledger.pauses(), iter([list[Pause]()])
    monkeypatch.setattr(ledger, "pauses", lambda: next(reads, pauses))

    answer = walks_in(world)

    assert answer["outcome"] == "refused"
    assert ledger.leases("gpu") == []


def test_all_of_a_pool_is_closed_by_one_command_and_nobody_is_waited_for(world: LabOnMoto) -> None:
    deployed(world, {**EVENING, "start": "20:30"})
    first = walks_in(world, for_seconds=1790)
    second = walks_in(world, "open-2", add=True, for_seconds=1790)
    world.at(29.5)

    command = world.command("close", lease=None, because="alice closed all of pool gpu")
    done: dict[str, Any] = STEPS["RestoreExperiments"](
        {"command": command, "results": {}}, world.guard_services.lease_services
    )

    assert sorted(done["closing"]) == sorted([first["lease"]["id"], second["lease"]["id"]])
    assert world.capacity.target("gpu", None).nodes == 0


def test_while_the_lab_is_destroyed_nothing_is_planned_and_nothing_opens(world: LabOnMoto) -> None:
    office = deployed(world, EVENING)
    command = open_command(lease(world)).to_json()

    world.capacity.ledger.begin_last_close("cdk destroy", EIGHT)
    plan_all(office)
    world.at(60)

    assert planned(world) == []
    assert schedules() == {}
    answer = admit(world, command)
    assert sentence(answer["reason"]) == "the lab is being destroyed: nothing opens any more"
    change(world, "resume")
    assert admit(world, {**command, "id": "again"})["outcome"] == "refused"
    world.capacity.ledger.end_last_close()
    plan_all(office)
    assert admit(world, command)["outcome"] == "granted"


def test_who_stands_in_the_way_of_a_window_is_foreseen_and_said_once(world: LabOnMoto) -> None:
    other = {**EVENING, "name": "other", "nodes": 1}
    office = deployed(world, EVENING, other)
    plan_all(office)

    assert trail(world, "foreseen") == [
        "window other will not open on 2026-11-20",
        "window other will not open on 2026-11-21",
    ]
    assert lease(world, "other-2026-11-20").refusal == reason(
        "lease.pool-full",
        pool="gpu",
        at=EIGHT + timedelta(hours=1),
        leases=(reason("lease.with-nodes", lease=reason("lease.of-window", window="evening"), nodes=2),),
        nodes=1,
        wanted=3,
        most=2,
    )
    change(world, "skip", window="evening")
    plan_all(office)
    assert trail(world, "foreseen")[2:] == ["window other opens on 2026-11-20 after all"]
    assert lease(world, "other-2026-11-20").refusal is None


def test_a_running_lease_follows_its_window_to_a_later_end_and_to_a_nearer_one_with_notice(
    world: LabOnMoto,
) -> None:
    deployed(world, EVENING)
    world.at(60)
    assert admit(world, open_command(lease(world)).to_json())["outcome"] == "granted"

    deployed(world, {**EVENING, "end": "24:00"})
    told = follow(world)
    longer = STEPS["Extend"]({"command": told, "results": {}}, world.guard_services.lease_services)
    assert longer["outcome"] == "extended"
    assert lease(world).closes == EIGHT + timedelta(hours=4)

    deployed(world, {**EVENING, "end": "21:05"})
    told = follow(world)
    shorter = STEPS["Extend"]({"command": told, "results": {}}, world.guard_services.lease_services)
    assert shorter["outcome"] == "shortened"
    assert lease(world).closes == EIGHT + timedelta(minutes=75)
    assert world.capacity.ledger.pool("gpu").failsafe_at == EIGHT + timedelta(minutes=85)
    scheduled = boto3.client("scheduler").get_schedule(GroupName="lab", Name=f"close-{AT_NINE}")
    assert scheduled["ScheduleExpression"] == "at(2026-11-20T21:15:00)"


def test_a_curfew_that_a_deploy_puts_into_a_running_lease_ends_it_with_notice(world: LabOnMoto) -> None:
    mine = walks_in(world, for_seconds=7200)["lease"]["id"]
    office = deployed(world)
    guarded = Lab.model_validate(
        {**office.lease_services.capacity.lab.model_dump(by_alias=True), "guard": {"curfew": "21:00"}}
    )
    office.lease_services.capacity.lab = guarded
    world.at(5)
    plan_all(office)

    shorter = STEPS["Extend"]({"command": follow(world), "results": {}}, office.lease_services)

    assert shorter["outcome"] == "shortened"
    assert "the lab has a curfew by now, at 06:00" in sentence(shorter["reason"])
    assert lease(world, mine).closes == EIGHT + timedelta(hours=1)
    assert plan_all(office)["started"] == []


def test_a_window_that_is_moved_after_its_order_was_refused_opens_at_its_new_time(world: LabOnMoto) -> None:
    deployed(world, EVENING)
    old = open_command(lease(world))
    deployed(world, {**EVENING, "start": "22:00"})

    new = open_command(lease(world))

    assert (old.lease, old.id) != (new.lease, new.id)
    assert old.lease == new.lease


def test_a_lease_that_a_person_extended_does_not_follow_its_window(world: LabOnMoto) -> None:
    deployed(world, EVENING)
    world.at(60)
    admit(world, open_command(lease(world)).to_json())
    more = world.command("extend", lease=AT_NINE, for_seconds=1800)
    assert (
        STEPS["Extend"]({"command": more, "results": {}}, world.guard_services.lease_services)["outcome"]
        == "extended"
    )

    office = deployed(world, {**EVENING, "end": "22:00"})

    assert plan_all(office)["started"] == []
    assert replace(lease(world), generation=0).closes == EIGHT + timedelta(minutes=210)


def follow(world: LabOnMoto) -> dict[str, Any]:
    """The last command that the planner gave to move a lease's end."""
    return [command for command in world.closes if command["verb"] == "extend"][-1]


def test_a_lease_whose_run_only_waits_is_not_opened_a_second_time(world: LabOnMoto) -> None:
    office = deployed(world)
    ahead = walks_in(world, opens=instant.written(EIGHT + timedelta(minutes=30)), for_seconds=7200)
    mine = lease(world, ahead["lease"]["id"])
    world.at(40)
    waiting = replace(office, workflows=Waiting())

    assert plan_all(waiting)["started"] == []
    assert plan_all(office)["started"] == [f"open-{mine.id}-20261120T2030Z"]
    late = {**open_command(mine).to_json(), "id": f"open-{mine.id}-20261120T2030Z"}
    assert admit(world, late)["outcome"] == "granted"
    assert lease(world, mine.id).run == f"open-{mine.id}-20261120T2030Z"


class Waiting(Workflows):
    """A Step Functions in which every run is still at work."""

    def running(self, workflow: str, name: str) -> bool:
        return bool(workflow and name)


def test_the_guard_takes_no_paused_lease_for_an_abandoned_one(world: LabOnMoto) -> None:
    office = deployed(world)
    ahead = walks_in(world, opens=instant.written(EIGHT + timedelta(minutes=30)), for_seconds=7200)
    change(world, "pause")
    plan_all(office)
    world.at(60)

    sweep_all(world.guard_services)

    assert lease(world, ahead["lease"]["id"]).state is LeaseState.ADMITTED
    assert world.closes == []


@pytest.mark.parametrize("until", [60, None])
def test_the_guard_gives_a_lease_that_a_pause_held_back_time_to_open(
    world: LabOnMoto, until: int | None
) -> None:
    office = deployed(world)
    ahead = walks_in(world, opens=instant.written(EIGHT + timedelta(minutes=30)), for_seconds=7200)
    change(world, "pause", closes=until and instant.written(EIGHT + timedelta(minutes=until)))
    plan_all(office)
    world.at(60.2)
    if until is None:
        change(world, "resume")

    sweep_all(world.guard_services)

    assert lease(world, ahead["lease"]["id"]).state is LeaseState.ADMITTED
    assert world.closes == []


def test_a_pause_hands_no_nodes_over_to_a_lease_that_it_keeps_back(world: LabOnMoto) -> None:
    """Granted ahead, its time comes in the pause: who has the nodes until then closes as usual."""
    deployed(world)
    walks_in(world, opens=instant.written(EIGHT + timedelta(minutes=30)), for_seconds=7200)
    world.scale(1)
    change(world, "pause")
    world.at(31)

    sweep_all(world.guard_services)

    assert world.sizes["desiredSize"] == 0
    assert [read(close["because"]) for close in world.closes] == [
        reason("guard.no-lease", pool="gpu", nodes=1)
    ]


def test_a_pause_that_comes_after_an_opening_takes_nothing_from_it(world: LabOnMoto) -> None:
    deployed(world)
    walks_in(world)
    world.guard_services.lease_services.arm("gpu")
    world.scale(1)
    world.at(1)
    change(world, "pause")

    sweep_all(world.guard_services)

    assert world.sizes["desiredSize"] == 1
    assert world.closes == []
