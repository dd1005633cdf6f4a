"""A sweep while others change the same pool: late closes, slow reads, failures, crossed orders."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.schedules import Schedules
from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.capacity.node_group.evidence import NodeGroup
from lamplighter.domain.schedules.schedule import Schedule
from lamplighter.errors import OutsideFailed
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LAB, NODEGROUP, ROLE, Busy, LabOnMoto
from tests.unit.pool.test_sizes import group_size

KEPT = (
    "Name", "GroupName", "ScheduleExpression", "ScheduleExpressionTimezone", "FlexibleTimeWindow", "Target",
    "State", "ActionAfterCompletion",
)  # fmt: skip


class BrokenSchedules(Schedules):
    """Scheduler refuses every call."""

    def put(self, schedule: Schedule) -> None:
        raise OutsideFailed(f"scheduler:CreateSchedule on {schedule.name} failed")


def found(lab: LabOnMoto) -> Any:
    """What a sweep finds."""
    return sweep_all(lab.guard_services)["breaches"]


def nothing(*_: object) -> None:
    """Accepts an order and does nothing."""


def test_a_node_group_that_was_deleted_over_its_nodes_is_closed_by_the_group_itself(lab: LabOnMoto) -> None:
    lab.scale(1)
    boto3.client("eks").delete_nodegroup(clusterName=LAB, nodegroupName=NODEGROUP)
    sweep_all(lab.guard_services)
    assert group_size(lab) == 0


def test_a_lease_that_is_granted_while_aws_is_read_is_no_breach(lab: LabOnMoto) -> None:
    class Slow(NodeGroups):
        def read(self, name: str) -> NodeGroup | None:
            if not lab.capacity.ledger.leases("gpu"):
                lab.lease(nodes=2)
                lab.guard_services.lease_services.arm("gpu")
                lab.scale(2)
            return super().read(name)

    lab.port.nodegroups = Slow(LAB)

    assert found(lab) == []


def test_a_lease_that_nothing_closes_loses_its_nodes_all_the_same(lab: LabOnMoto) -> None:
    """CloseLab cannot run: after a while the guard orders the size itself."""
    lab.lease(nodes=1, opens=-60, closes=0)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(1)

    for minutes in (3, 8, 13):
        lab.at(minutes)
        sweep_all(lab.guard_services)

    assert lab.sizes["desiredSize"] == 0


def test_while_eks_is_stuck_the_guard_takes_the_group_after_a_quarter_hour(lab: LabOnMoto) -> None:
    lab.scale(1)
    lab.port.nodegroups = Busy(LAB)
    sizes = []
    for minutes in (0, 5, 10, 15, 20):
        lab.at(minutes)
        sweep_all(lab.guard_services)
        sizes.append(group_size(lab))

    assert sizes == [1, 1, 1, 0, 0]


def test_a_failsafe_that_cannot_be_set_keeps_nothing_else_from_being_done(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.scale(1)
    boto3.client("eks").update_nodegroup_config(
        clusterName=LAB, nodegroupName=NODEGROUP, scalingConfig={"minSize": 1}
    )
    lab.guard_services.lease_services.failsafes = BrokenSchedules(LAB, ROLE, "dead")

    with pytest.raises(OutsideFailed, match="scheduler:CreateSchedule"):
        sweep_all(lab.guard_services)

    assert lab.sizes["minSize"] == 0


def test_closes_without_effect_come_less_often(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.scale(1)
    lab.port.nodegroups = Busy(LAB)
    monkeypatch.setattr(lab.port.autoscaling, "lower", nothing)
    started = []
    for minutes in range(0, 40, 5):
        lab.at(minutes)
        sweep_all(lab.guard_services)
        started.append(len(lab.closes))

    assert started == [1, 2, 2, 3, 3, 3, 3, 4]


@pytest.mark.parametrize(
    "changed",
    [
        {"ScheduleExpressionTimezone": "Asia/Seoul"},
        {"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 60}},
        {"State": "DISABLED"},
        {"ScheduleExpression": "at(2026-11-20T23:59:00)"},
        {"Target": {"RoleArn": "arn:aws:iam::123456789012:role/nobody"}},
        {"Target": {"Input": "{}"}},
    ],
)
def test_any_change_to_a_failsafe_is_put_right(lab: LabOnMoto, changed: dict[str, Any]) -> None:
    lab.lease(nodes=1)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(1)
    scheduler: Any = boto3.client("scheduler")
    before = scheduler.get_schedule(GroupName=LAB, Name="failsafe-gpu-20")
    asked = {key: before[key] for key in KEPT}
    role = {"Target": {**before["Target"], **changed.get("Target", {})}}
    scheduler.update_schedule(**(asked | changed | role))

    [breach] = found(lab)

    assert (breach["rule"], breach["done"]) == ("failsafe-wrong", True)
    after = scheduler.get_schedule(GroupName=LAB, Name="failsafe-gpu-20")
    assert {key: after[key] for key in KEPT} == asked


def test_a_failsafe_on_the_move_is_no_breach_said(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    """An extension moves the failsafe first: a sweep in between sees it as late, and must not change it."""
    lab.lease(nodes=1)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(1)
    failsafes, truth = (
        lab.guard_services.lease_services.failsafes,
        lab.guard_services.lease_services.failsafes.read,
    )
    looks: list[str] = []

    def late_at_first(name: str) -> Schedule | None:
        looks.append(name)
        seen = truth(name)
        return replace(seen, at=seen.at + timedelta(hours=1)) if seen and len(looks) <= 4 else seen

    monkeypatch.setattr(failsafes, "read", late_at_first)

    [breach] = found(lab)

    assert (breach["rule"], breach["done"]) == ("failsafe-wrong", False)


def test_a_pool_whose_failsafe_cannot_be_set_is_closed_after_its_people_were_told(lab: LabOnMoto) -> None:
    """No pool runs without its failsafe: the guard arms it again, or closes the pool."""
    lab.lease(nodes=1, opens=-60)
    lab.scale(1)
    lab.guard_services.lease_services.failsafes = BrokenSchedules(LAB, ROLE, "dead")
    for minutes in range(0, 35, 5):
        lab.at(minutes)
        with pytest.raises(OutsideFailed):
            sweep_all(lab.guard_services)

    said = [
        (round((each.at - EIGHT).total_seconds() / 60), each.details["action"], each.details.get("paged"))
        for each in lab.capacity.ledger.audit("gpu", EIGHT)
        if each.details.get("rule") == "failsafe-wrong"
    ]

    assert [minutes for minutes, action, _ in said if action == "warn"] == [15]
    assert [minutes for minutes, action, _ in said if action == "close"] == [30]
    assert [minutes for minutes, action, paged in said if action == "failed" and paged] == [0, 15]
    [close] = lab.closes
    assert close["lease"] == "cli-1"


def test_a_sweep_does_not_write_to_a_pool_while_another_one_does(lab: LabOnMoto) -> None:
    lab.scale(1)
    slow, next_one = (replace(lab.guard_services, invocation=name) for name in ("slow", "next"))

    with lab.capacity.ledger.writing("gpu", slow.holder, EIGHT):
        sweep_all(next_one)
        meanwhile = lab.sizes["desiredSize"]
    sweep_all(next_one)

    assert (meanwhile, lab.sizes["desiredSize"]) == (1, 0)
