"""What people change without a deploy: skips, pauses, leases ahead, and closing everything."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3

from handlers.leases import STEPS
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.builders.leases import EIGHT
from tests.drawn import sentence
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import schedules, step
from tests.unit.planner import test_planner

# It is eight in the evening (UTC) of Friday 2026-11-20.
EVENING = {"name": "evening", "nodes": 2, "days": "daily", "start": "21:00", "end": "23:00"}
TODAY, TOMORROW = "2026-11-20", "2026-11-21"
AT_NINE = f"evening-{TODAY}"


def deployed(lab: LabOnMoto, *windows: dict[str, Any]) -> PlannerServices:
    """The lab as a deploy with these windows leaves it, planned."""
    planner = test_planner.deployed(lab, *windows)
    plan_all(planner)
    return planner


def change(lab: LabOnMoto, verb: str, name: str = "", **more: object) -> dict[str, Any]:
    command = {**lab.command(verb, lease=None), "pool": "*", "id": f"{verb}-{name}", **more}
    return STEPS["Change"]({"command": command}, lab.guard_services.lease_services)


def walks_in(lab: LabOnMoto, name: str = "open-1", **more: object) -> dict[str, Any]:
    asked = {"opens": None, "closes": None, "lease": None, "for_seconds": 3600, "nodes": 1, "id": name}
    return step(lab, "Admit", {**lab.command(), **asked, **more})


def planned(lab: LabOnMoto) -> list[str]:
    return [one.id for one in lab.capacity.ledger.leases("gpu") if one.state is LeaseState.PLANNED]


def openings() -> dict[str, str]:
    return {name: at for name, at in schedules().items() if name.startswith("open-")}


def trail(lab: LabOnMoto, kind: str) -> list[str]:
    return [str(entry.what) for entry in lab.entries(kind)]


def test_a_skip_without_a_date_is_the_next_opening_and_takes_its_lease_back(lab: LabOnMoto) -> None:
    office = deployed(lab, EVENING)

    answer = change(lab, "skip", window="evening", because="of the holiday")
    plan_all(office)

    assert (answer["outcome"], answer["calendar"]) == ("skipped", True)
    assert sentence(answer["reason"], "UTC") == (
        "evening does not open at 21:00 on 2026-11-20 (UTC): alice skipped it because of the holiday"
    )
    assert planned(lab) == [f"evening-{TOMORROW}"]
    assert list(openings()) == [f"open-evening-{TOMORROW}"]
    assert trail(lab, "skipped") == ["skipped evening on 2026-11-20"]


def test_the_same_skip_twice_is_one_and_a_second_one_changes_nothing(lab: LabOnMoto) -> None:
    deployed(lab, EVENING)

    first = change(lab, "skip", window="evening", date=TODAY)
    again = change(lab, "skip", window="evening", date=TODAY)
    another = change(lab, "skip", "2", window="evening", date=TODAY, by="bob")

    assert again == first
    assert another["outcome"] == "unchanged"
    assert sentence(another["reason"]) == "alice skipped evening on 2026-11-20"


def test_an_opening_that_was_under_way_when_its_window_was_skipped_gets_nothing(lab: LabOnMoto) -> None:
    deployed(lab, EVENING)
    command = open_command(lab.kept(AT_NINE)).to_json()
    change(lab, "skip", window="evening", date=TODAY)
    lab.at(60)

    answer = step(lab, "Admit", command)

    assert answer["outcome"] == "refused"
    assert sentence(answer["reason"]) == "alice skipped evening on 2026-11-20"


def test_a_skip_taken_back_opens_the_window_after_all_late_if_need_be(lab: LabOnMoto) -> None:
    office = deployed(lab, EVENING)
    change(lab, "skip", window="evening")
    plan_all(office)
    lab.at(90)

    answer = change(lab, "unskip", window="evening")
    done = plan_all(office)

    assert answer["outcome"] == "unskipped"
    assert sentence(answer["reason"]) == "evening opens now, late: alice took its skip back"
    assert done["started"] == [f"open-{AT_NINE}-20261120T2130Z"]
    assert step(lab, "Admit", open_command(lab.kept(AT_NINE)).to_json())["outcome"] == "granted"
    assert change(lab, "unskip", "2", window="evening")["outcome"] == "unchanged"


def test_while_the_lab_is_paused_nobody_opens_anything_and_is_told_until_when(lab: LabOnMoto) -> None:
    deployed(lab)
    until = instant.written(EIGHT + timedelta(hours=2))

    answer = change(lab, "pause", closes=until, because="of the driver")
    refused = walks_in(lab)

    paused = "alice paused the lab until 22:00 on 2026-11-20 (UTC) because of the driver"
    assert sentence(answer["reason"], "UTC") == paused
    assert refused["outcome"] == "refused"
    assert sentence(refused["reason"], "UTC") == paused
    assert refused["earliest"] == until
    lab.at(120)
    assert walks_in(lab, "open-2")["outcome"] == "granted"


def test_a_window_whose_time_comes_in_a_pause_opens_when_it_ends(lab: LabOnMoto) -> None:
    office = deployed(lab, EVENING)

    answer = change(lab, "pause", closes=instant.written(EIGHT + timedelta(minutes=90)))
    plan_all(office)

    assert "the evening lease opens late, at 21:30" in sentence(answer["reason"], "UTC")
    assert openings()[f"open-{AT_NINE}"] == "at(2026-11-20T21:30:00)"
    lab.at(60)
    assert step(lab, "Admit", open_command(lab.kept(AT_NINE)).to_json())["outcome"] == "refused"
    assert lab.kept(AT_NINE).state is LeaseState.PLANNED
    lab.at(90)
    assert step(lab, "Admit", open_command(lab.kept(AT_NINE)).to_json())["outcome"] == "granted"


def test_a_window_that_went_by_in_a_pause_is_said_once(lab: LabOnMoto) -> None:
    office = deployed(lab, EVENING)
    change(lab, "pause")
    plan_all(office)
    lab.at(200)

    plan_all(office)
    plan_all(office)

    assert trail(lab, "missed") == ["window evening did not open on 2026-11-20"]


def test_all_of_a_pool_is_closed_by_one_command_and_nobody_is_waited_for(lab: LabOnMoto) -> None:
    deployed(lab, {**EVENING, "start": "20:30"})
    first = walks_in(lab, for_seconds=1790)
    second = walks_in(lab, "open-2", add=True, for_seconds=1790)
    lab.at(29.5)

    command = lab.command("close", lease=None, because="alice closed all of pool gpu")
    done: dict[str, Any] = step(lab, "RestoreExperiments", command)

    assert sorted(done["closing"]) == sorted([first["lease"]["id"], second["lease"]["id"]])
    assert lab.capacity.target("gpu", None).nodes == 0


def test_while_the_lab_is_destroyed_nothing_is_planned_and_nothing_opens(lab: LabOnMoto) -> None:
    office = deployed(lab, EVENING)
    command = open_command(lab.kept(AT_NINE)).to_json()

    lab.capacity.ledger.begin_last_close("cdk destroy", EIGHT)
    plan_all(office)
    lab.at(60)

    assert planned(lab) == []
    assert openings() == {}
    answer = step(lab, "Admit", command)
    assert sentence(answer["reason"]) == "the lab is being destroyed: nothing opens any more"
    change(lab, "resume")
    assert step(lab, "Admit", {**command, "id": "again"})["outcome"] == "refused"
    lab.capacity.ledger.end_last_close()
    plan_all(office)
    assert step(lab, "Admit", command)["outcome"] == "granted"


def test_who_stands_in_the_way_of_a_window_is_foreseen_and_said_once(lab: LabOnMoto) -> None:
    other = {**EVENING, "name": "other", "nodes": 1}
    office = deployed(lab, EVENING, other)
    plan_all(office)

    assert trail(lab, "foreseen") == [
        "window other will not open on 2026-11-20",
        "window other will not open on 2026-11-21",
    ]
    assert lab.kept("other-2026-11-20").refusal == reason(
        "lease.pool-full",
        pool="gpu",
        at=EIGHT + timedelta(hours=1),
        leases=(reason("lease.with-nodes", lease=reason("lease.of-window", window="evening"), nodes=2),),
        nodes=1,
        wanted=3,
        most=2,
    )
    change(lab, "skip", window="evening")
    plan_all(office)
    assert trail(lab, "foreseen")[2:] == ["window other opens on 2026-11-20 after all"]
    assert lab.kept("other-2026-11-20").refusal is None


def test_a_running_lease_follows_its_window_to_later_and_to_nearer_ends(lab: LabOnMoto) -> None:
    deployed(lab, EVENING)
    lab.at(60)
    assert step(lab, "Admit", open_command(lab.kept(AT_NINE)).to_json())["outcome"] == "granted"

    deployed(lab, {**EVENING, "end": "24:00"})
    told = follow(lab)
    assert step(lab, "Extend", told)["outcome"] == "extended"
    assert lab.kept(AT_NINE).closes == EIGHT + timedelta(hours=4)

    deployed(lab, {**EVENING, "end": "21:05"})
    told = follow(lab)
    assert step(lab, "Extend", told)["outcome"] == "shortened"
    assert lab.kept(AT_NINE).closes == EIGHT + timedelta(minutes=75)
    assert lab.capacity.ledger.pool("gpu").failsafe_at == EIGHT + timedelta(minutes=85)
    scheduled = boto3.client("scheduler").get_schedule(GroupName="lab", Name=f"close-{AT_NINE}")
    assert scheduled["ScheduleExpression"] == "at(2026-11-20T21:15:00)"


def test_a_curfew_that_a_deploy_puts_into_a_running_lease_ends_it_with_notice(lab: LabOnMoto) -> None:
    mine = walks_in(lab, for_seconds=7200)["lease"]["id"]
    office = deployed(lab)
    guarded = Lab.model_validate(
        {**office.lease_services.capacity.lab.model_dump(by_alias=True), "guard": {"curfew": "21:00"}}
    )
    office.lease_services.capacity.lab = guarded
    lab.at(5)
    plan_all(office)

    shorter = STEPS["Extend"]({"command": follow(lab), "results": {}}, office.lease_services)

    assert shorter["outcome"] == "shortened"
    assert "the lab has a curfew by now, at 06:00" in sentence(shorter["reason"])
    assert lab.kept(mine).closes == EIGHT + timedelta(hours=1)
    assert plan_all(office)["started"] == []


def test_a_window_that_is_moved_after_its_order_was_refused_opens_at_its_new_time(lab: LabOnMoto) -> None:
    deployed(lab, EVENING)
    old = open_command(lab.kept(AT_NINE))
    deployed(lab, {**EVENING, "start": "22:00"})

    new = open_command(lab.kept(AT_NINE))

    assert (old.lease, old.id) != (new.lease, new.id)
    assert old.lease == new.lease


def follow(lab: LabOnMoto) -> dict[str, Any]:
    """The last command that the planner gave to move a lease's end."""
    return [command for command in lab.closes if command["verb"] == "extend"][-1]


def test_a_lease_whose_run_only_waits_is_not_opened_a_second_time(lab: LabOnMoto) -> None:
    office = deployed(lab)
    ahead = walks_in(lab, opens=instant.written(EIGHT + timedelta(minutes=30)), for_seconds=7200)
    mine = lab.kept(ahead["lease"]["id"])
    lab.at(40)
    waiting = replace(office, workflows=Waiting())

    assert plan_all(waiting)["started"] == []
    assert plan_all(office)["started"] == [f"open-{mine.id}-20261120T2030Z"]
    late = {**open_command(mine).to_json(), "id": f"open-{mine.id}-20261120T2030Z"}
    assert step(lab, "Admit", late)["outcome"] == "granted"
    assert lab.kept(mine.id).run == f"open-{mine.id}-20261120T2030Z"


class Waiting(Workflows):
    """A Step Functions in which every run is still at work."""

    def running(self, workflow: str, name: str) -> bool:
        return bool(workflow and name)
