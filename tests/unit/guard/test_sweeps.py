"""A whole sweep: its heartbeat, the drains that it ends, changes by people, and when it wakes the Slack board."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest

from handlers import guard, leases
from handlers.leases import STEPS
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.application.leases.changes import change
from lamplighter.domain.capacity.evidence import Member
from lamplighter.domain.slack.kept import WaitingPlace
from lamplighter.errors import BadInput, TryLater
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.guard.test_proof import WAITS, draining
from tests.unit.lab_on_moto import LAB, LEDGER, NODEGROUP, LabOnMoto
from tests.unit.leases.steps import others_write_first

SECOND = 1 / 60


@pytest.mark.parametrize(("minutes", "alive"), [(0, True), (180 - SECOND, True), (180, False)])
def test_the_planner_s_three_hours_of_silence(lab: LabOnMoto, minutes: float, *, alive: bool) -> None:
    beats: list[str] = []
    guard_services = replace(lab.guard_services, heartbeat=lambda: beats.append("alive"))
    sweep_all(guard_services)
    assert beats == []
    lab.capacity.ledger.note_planned(EIGHT)
    lab.at(minutes)

    sweep_all(guard_services)

    assert bool(beats) is alive


@pytest.mark.parametrize(
    ("mode", "leased", "ended"), [("arm", False, ["i-2"]), ("watch", False, []), ("arm", True, [])]
)
def test_a_sweep_ends_the_wait_of_eks(lab: LabOnMoto, mode: str, leased: bool, ended: list[str]) -> None:
    change({"command": lab.command(mode, lease=None)}, lab.guard_services.lease_services)
    if leased:
        lab.lease(nodes=1)
    group = draining(lab, Member("i-1", "a"), WAITS)

    sweep_all(lab.guard_services)

    assert group.ended == ended


def test_what_another_writer_prevents_is_found_and_left_to_the_next_sweep(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.scale(1)
    boto3.client("eks").update_nodegroup_config(
        clusterName=LAB, nodegroupName=NODEGROUP, scalingConfig={"minSize": 1}
    )
    lab.guard_services.lease_services.arm("gpu")
    with lab.capacity.ledger.writing("gpu", "somebody", EIGHT):
        found: Any = sweep_all(lab.guard_services)["breaches"]

    assert [(each["pool"], each["rule"], each["action"], each["done"]) for each in found] == [
        ("gpu", "sizes-changed", "restore-sizes", False)
    ]
    assert lab.sizes["minSize"] == 1


@pytest.mark.parametrize(
    "event", [{"step": "ProveOne", "run": {}}, {"step": "ProveZero"}, {"step": "ProveZero", "run": 1}]
)
def test_no_such_guard_step(
    lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch, event: dict[str, object]
) -> None:
    monkeypatch.setattr(guard, "_guard_services", lambda: lab.guard_services)

    with pytest.raises(BadInput, match=r"^(step|run): "):
        guard.handler(event, None)
    proven = guard.handler({"step": "ProveZero", "run": {"command": lab.command("close")}}, None)
    assert proven["zero"] is True
    assert guard.handler({}, None) == {"breaches": []}


@pytest.mark.parametrize("event", [{"step": "Admit"}, {"step": "Other", "run": {}}, {}])
def test_no_such_lease_step(
    lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch, event: dict[str, object]
) -> None:
    monkeypatch.setattr(leases, "lease_services", lambda: lab.guard_services.lease_services)
    with pytest.raises(BadInput, match=r"^(step|run): "):
        leases.handler(event, None)


def says(lab: LabOnMoto, verb: str, **more: object) -> dict[str, object]:
    return change({"command": lab.command(verb, lease=None, **more)}, lab.guard_services.lease_services)


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"pool": "*"}, "paused"),
        ({"pool": "*", "generation": 0}, "paused"),
        ({"pool": "*", "generation": 5}, "paused"),
        ({"pool": "*", "expires": "2026-11-20T20:00:00Z"}, "refused"),
        ({"pool": "tpu"}, "refused"),
    ],
)
def test_a_change_to_the_lab_has_no_state(lab: LabOnMoto, more: dict[str, object], outcome: str) -> None:
    said = says(lab, "pause", **more)
    assert (said["outcome"], said["calendar"]) == (outcome, outcome == "paused")


@pytest.mark.parametrize(("generation", "outcome"), [(None, "watching"), (1, "watching"), (0, "refused")])
def test_a_change_to_a_pool_is_of_its_state(lab: LabOnMoto, generation: int | None, outcome: str) -> None:
    lab.generation_moves()
    said = says(lab, "watch", generation=generation)
    assert (said["outcome"], said["calendar"]) == (outcome, False)


def test_what_changes_nothing_wakes_no_planner(lab: LabOnMoto) -> None:
    first = says(lab, "resume", pool="*")
    assert (first["outcome"], first["calendar"]) == ("unchanged", False)


def test_a_verb_that_changes_nothing_of_the_lab_is_bad_input(lab: LabOnMoto) -> None:
    with pytest.raises(BadInput, match="verb: 'close' does not change the lab"):
        says(lab, "close")


def test_a_change_is_decided_three_times_and_then_asked_again(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)

    with (
        others_write_first(lab) as seen,
        pytest.raises(TryLater, match="the ledger changed while the command to keep"),
    ):
        change({"command": lab.command("keep")}, lab.guard_services.lease_services)
    assert len(seen) == 3
    with others_write_first(lab, times=2):
        assert (
            change({"command": lab.command("keep")}, lab.guard_services.lease_services)["outcome"] == "kept"
        )


DAY = timedelta(hours=24)
WISH = WaitingPlace("gpu", EIGHT, "U0JUN", "jun (U0JUN)", "C0123456789", 1, None, EIGHT + DAY, "Asia/Seoul")


def states(lab: LabOnMoto, *minutes: float) -> list[Any]:
    """The pool's own item after a sweep at each of these minutes after eight."""
    found = []
    for each in minutes:
        lab.at(each)
        sweep_all(lab.guard_services)
        key = {"pk": {"S": "POOL#gpu"}, "sk": {"S": "STATE"}}
        item = boto3.client("dynamodb").get_item(TableName=LEDGER, Key=key, ConsistentRead=True).get("Item")
        found.append(item)
    return found


def test_nothing_moves_in_a_quiet_pool_for_which_nobody_waits(lab: LabOnMoto) -> None:
    before, after = states(lab, 5, 10)
    assert before == after


def test_every_sweep_moves_a_pool_for_which_somebody_waits(lab: LabOnMoto) -> None:
    lab.lab = Lab.model_validate({"name": LAB, "slack": {}})
    lab.capacity.ledger.wish(WISH)
    first, second, after_a_day, later = states(lab, 5, 10, 24 * 60, 24 * 60 + 5)
    assert first != second
    assert after_a_day == later


def test_sweeps_move_a_pool_whose_window_was_skipped_for_a_quarter_of_an_hour(lab: LabOnMoto) -> None:
    window = {"name": "night", "days": "daily", "start": "22:00", "end": "23:00"}
    lab.capacity.lab = Lab.model_validate({"name": LAB, "time_zone": "UTC", "windows": [window], "slack": {}})
    command = {**lab.command("skip", lease=None), "pool": "*", "window": "night"}
    STEPS["Change"]({"command": command}, lab.guard_services.lease_services)

    first, second, after, later = states(lab, 5, 10, 20, 25)

    assert first != second
    assert second == after == later


def test_a_lab_without_slack_moves_nothing_for_it(lab: LabOnMoto) -> None:
    command = {**lab.command("pause", lease=None), "pool": "*"}
    STEPS["Change"]({"command": command}, lab.guard_services.lease_services)
    before, after = states(lab, 5, 10)
    assert before == after
