"""The lease steps on a real table and real schedules: grants, extensions, hand-overs, receipts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config

from handlers.leases import STEPS
from lamplighter.adapters.aws.schedules import UPDATABLE, Schedules
from lamplighter.application.capacity.steps import release
from lamplighter.application.notices.steps import announce
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.schedules.schedule import close_command, open_command
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT, MINUTE
from tests.drawn import sentence
from tests.unit.lab_on_moto import ROLE, LabOnMoto
from tests.unit.leases.steps import (
    asks,
    closed,
    held,
    lease_services,
    ledger,
    opened,
    planned,
    schedules,
    step,
    voice,
)


def test_a_person_gets_nodes_the_money_is_held_and_the_failsafe_is_armed_first(lab: LabOnMoto) -> None:
    lease = opened(lab)

    assert (lease.nodes, lease.state, lease.closes) == (2, LeaseState.ADMITTED, EIGHT + 120 * MINUTE)
    assert held(lab) == lease.hold == Money.of(lease_services(lab).terms("gpu").price_per_hour * 4, "USD")
    assert schedules() == {
        "failsafe-gpu-10": "at(2026-11-20T22:10:00)",
        "failsafe-gpu-20": "at(2026-11-20T22:20:00)",
        "failsafe-gpu-30": "at(2026-11-20T22:30:00)",
        "failsafe-gpu-40": "at(2026-11-20T22:40:00)",
        f"close-{lease.id}": "at(2026-11-20T22:00:00)",
        f"warn-15-{lease.id}": "at(2026-11-20T21:45:00)",
        f"warn-5-{lease.id}": "at(2026-11-20T21:55:00)",
    }


def test_without_an_armed_failsafe_nobody_gets_a_lease(lab: LabOnMoto) -> None:
    nowhere = boto3.client(
        "scheduler", endpoint_url="http://127.0.0.1:9", config=Config(retries={"total_max_attempts": 1})
    )
    lame = replace(lease_services(lab), failsafes=Schedules("lab", "role", "queue", nowhere))

    with pytest.raises(OutsideFailed, match="scheduler:CreateSchedule on lab/failsafe-gpu-10"):
        STEPS["Admit"]({"command": asks(lab), "results": {}}, lame)

    assert ledger(lab).leases("gpu") == []
    assert held(lab) == Money.zero("USD")


def test_a_failsafe_that_stands_is_only_read_and_else_put_right(lab: LabOnMoto) -> None:
    admitted = step(lab, "Admit", asks(lab))
    armed = schedules()
    scheduler = boto3.client("scheduler")
    written: list[str] = []
    scheduler.meta.events.register(
        "provide-client-params.scheduler.*",
        lambda params, **_: written.append(params["Name"]) if "Target" in params else None,
    )
    dead = f"arn:aws:sqs:{boto3.client('sqs').meta.region_name}:123456789012:dead"
    watched = replace(lease_services(lab), failsafes=Schedules("lab", ROLE, dead, scheduler))
    run = {"command": asks(lab), "results": {"Admit": admitted}}

    STEPS["ArmFailsafe"](run, watched)
    assert written == []

    gone, off = sorted(armed)[:2]
    scheduler.delete_schedule(GroupName="lab", Name=gone)
    found = scheduler.get_schedule(GroupName="lab", Name=off)
    asked: dict[str, Any] = {key: value for key, value in found.items() if key in UPDATABLE}
    scheduler.update_schedule(**{**asked, "State": "DISABLED"})
    written.clear()
    STEPS["ArmFailsafe"](run, watched)
    assert {*written} == {gone, off}
    assert scheduler.get_schedule(GroupName="lab", Name=off)["State"] == "ENABLED"
    assert {name: at for name, at in schedules().items() if name in armed} == armed


def test_the_same_command_gets_the_same_lease_and_holds_once(lab: LabOnMoto) -> None:
    first = step(lab, "Admit", asks(lab))
    lab.at(3)
    assert step(lab, "Admit", asks(lab))["lease"]["id"] == first["lease"]["id"]
    assert held(lab) == Money.from_json(first["lease"]["hold"])
    assert ledger(lab).pool("gpu").generation == 1


def test_a_window_that_is_granted_late_had_no_nodes_before_that(lab: LabOnMoto) -> None:
    window = planned(lab, "evening", 0, 120)
    lab.at(30)
    step(lab, "Admit", open_command(window).to_json())
    assert lab.kept(window.id).wanted_before == ((EIGHT + 30 * MINUTE, 0),)


def test_extending_moves_the_failsafe_the_end_and_the_hold(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(60)

    extended = step(lab, "Extend", lab.command("extend", lease=lease.id, for_seconds=3600))

    assert extended["outcome"] == "extended"
    assert extended["lease"]["closes"] == "2026-11-20T23:00:00Z"
    assert held(lab) == Money(lease.hold.amount * 3 / 2, "USD")
    found = schedules()
    assert found["failsafe-gpu-10"] == "at(2026-11-20T23:10:00)"
    assert found[f"close-{lease.id}"] == "at(2026-11-20T23:00:00)"


def test_a_lease_for_later_gets_a_schedule_and_can_be_cancelled_before_it_begins(lab: LabOnMoto) -> None:
    later = step(lab, "Admit", asks(lab, opens="2026-11-20T23:00:00Z"))
    lease_id = later["lease"]["id"]
    assert (later["outcome"], later["later"]) == ("granted", True)
    assert schedules() == {
        f"open-{lease_id}": "at(2026-11-20T23:00:00)",
        f"warn-15-{lease_id}": "at(2026-11-21T00:45:00)",
        f"warn-5-{lease_id}": "at(2026-11-21T00:55:00)",
        f"close-{lease_id}": "at(2026-11-21T01:00:00)",
    }
    lab.at(10)

    closed(lab, lab.command("close", lease=lease_id))

    assert schedules() == {}
    assert held(lab) == Money.zero("USD")
    gone = lab.kept(lease_id)
    assert (gone.state, gone.node_seconds) == (LeaseState.CLOSED, 0)


def test_a_pool_whose_node_group_is_gone_is_refused_with_the_reason(lab: LabOnMoto) -> None:
    boto3.client("eks").delete_nodegroup(clusterName="lab", nodegroupName="lab-ng-gpu")
    refused = step(lab, "Admit", asks(lab))
    assert refused["outcome"] == "refused"
    assert "node group lab-ng-gpu is not in cluster lab" in sentence(refused["reason"])


def test_proven_gpus_are_announced_and_stand_in_the_receipt(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(7)
    verdict = {"check": "vectorAdd", "node": "n1", "verdict": "passed", "reason": "ok", "measurements": {}}
    run = {
        "command": asks(lab),
        "results": {
            "Admit": {"outcome": "granted", "lease": lease.to_json(), "later": False},
            "AwaitNodes": {"wanted": 2, "instances": [], "shortage": None},
            "AwaitGpus": {"nodes": [{"name": "n1", "ready": True}, {"name": "n2", "ready": True}]},
            "Validate": {"verdict": "passed", "at": "2026-11-20T20:07:00Z", "counts": {"passed": 1}},
        },
    }

    ledger(lab).keep_rows("gpu", lease.id, EIGHT + 7 * MINUTE, [verdict])

    said = announce(run, voice(lab))
    lab.at(120)
    receipt = closed(lab, close_command(lease).to_json())

    assert read(said["subject"]) == reason("notice.open.subject", pool="gpu", until=lease.closes)
    assert receipt["minutes_to_ready"] == 7.0
    assert receipt["verdicts"] == [verdict]


def test_what_a_shortage_keeps_away_is_not_held_until_it_is_asked_for_again(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(60)
    admit = {"outcome": "granted", "lease": lease.to_json(), "later": False}
    results = {
        "Admit": admit,
        "AwaitNodes": {"wanted": 2, "instances": [{"id": "i-1"}], "shortage": "1 of 2 nodes: no capacity"},
        "AwaitGpus": {"nodes": [{"name": "n1", "ready": True}]},
    }

    assert announce({"command": asks(lab), "results": results}, voice(lab))["kind"] == "degraded"
    lab.scale(1)
    released = release({"command": asks(lab), "results": results}, lab.capacity)

    assert released == {"over": False, "missing": 1}
    assert held(lab) == Money(lease.hold.amount * 3 / 4, "USD")
    assert lab.capacity.target("gpu", None).nodes == lab.sizes["desiredSize"] == 1
    assert release({"command": asks(lab), "results": results}, lab.capacity)["missing"] == 0
    lab.at(90)
    step(lab, "ArmFailsafe", asks(lab), Admit=admit)
    assert held(lab) == Money(lease.hold.amount * 7 / 8, "USD")
    again = lab.kept(lease.id)
    assert (again.nodes, again.missing) == (2, 0)
    assert again.wanted_before == ((EIGHT + timedelta(minutes=60), 2), (EIGHT + timedelta(minutes=90), 1))


def test_two_leases_never_miss_one_node(lab: LabOnMoto) -> None:
    first = opened(lab, nodes=1)
    lab.at(10)
    second = opened(lab, nodes=1, name="open-2", add=True)
    whole = held(lab)
    lab.scale(1)
    for lease, asked in ((first, asks(lab)), (second, asks(lab, "open-2"))):
        admit = {"outcome": "granted", "lease": lease.to_json(), "later": False}
        results = {"Admit": admit, "AwaitNodes": {"wanted": 2, "shortage": "1 of 2 nodes: no capacity"}}
        release({"command": asked, "results": results}, lab.capacity)

    there = {lease.id: lease.missing for lease in ledger(lab).leases("gpu")}
    assert there == {first.id: 0, second.id: 1}
    assert held(lab) == whole - second.hold
