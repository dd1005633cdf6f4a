"""What a shortage keeps away is ordered no more: whose nodes are missing, and what happens when others write too."""

from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest
from moto.backends import get_backend

from lamplighter.application.capacity import missing as missing_nodes
from lamplighter.application.capacity.steps import release
from lamplighter.domain.capacity.evidence import Controller, Instance, Member, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.commands.command import Command
from lamplighter.errors import TryLater
from lamplighter.reasons.document import document, one_line
from lamplighter.reasons.reason import Sentences, reason
from tests.builders.leases import EIGHT
from tests.unit import aws_calls
from tests.unit.lab_on_moto import LAB, REGION, Busy, LabOnMoto
from tests.unit.leases.steps import others_write_first


def released(lab: LabOnMoto) -> dict[str, object]:
    shortage = {"AwaitNodes": {"shortage": "1 of 2 nodes: no capacity"}}
    return release({"command": lab.command(), "results": shortage}, lab.capacity)


def one_of_two(lab: LabOnMoto) -> None:
    """A lease of two nodes, of which one has come."""
    lab.lease(nodes=2)
    lab.scale(1)


def both_are_ordered(lab: LabOnMoto) -> None:
    boto3.client("eks").update_nodegroup_config(
        clusterName=LAB, nodegroupName="lab-ng-gpu", scalingConfig={"desiredSize": 2}
    )
    group(lab).desired_capacity = 2


def group(lab: LabOnMoto) -> Any:
    """moto's own: there a group has as many members as it wants."""
    return get_backend("autoscaling")["123456789012"][REGION].autoscaling_groups[lab.group]


def test_what_is_missing_is_ordered_no_more_and_told_with_its_hold(lab: LabOnMoto) -> None:
    one_of_two(lab)

    assert released(lab) == {"over": False, "missing": 1}

    [told] = lab.entries("degraded")
    assert (told.who, told.what, told.lease, told.nodes) == (
        "nodegroups",
        reason("capacity.missing", missing=1, nodes=2, lease=reason("lease.of-owner", owner="alice")),
        "cli-1",
        1,
    )
    assert str(told.why).startswith("1 of 2 nodes: no capacity; ")
    assert str(told.why).endswith(" of its hold is free until the nodes are asked for again")
    assert (lab.kept().missing, lab.kept().nodes, lab.sizes["desiredSize"]) == (1, 2, 1)
    assert [each.who for each in lab.entries("scaled")] == ["nodegroups"]


def test_a_shortage_that_a_step_kept_as_a_code_is_told_as_a_reason(lab: LabOnMoto) -> None:
    one_of_two(lab)
    short = reason("pool.short", have=1, wanted=2, why=reason("pool.short.no-addresses"))
    results = {"AwaitNodes": {"shortage": one_line(short)}}

    release({"command": lab.command(), "results": results}, lab.capacity)

    [told] = lab.entries("degraded")
    assert isinstance(told.why, Sentences)
    assert told.why.sentences[0] == short


def test_eks_is_not_waited_for_where_it_finds_no_capacity(lab: LabOnMoto) -> None:
    one_of_two(lab)
    both_are_ordered(lab)
    lab.port.nodegroups = Busy(LAB)

    released(lab)

    assert group(lab).desired_capacity == 1


def test_where_all_came_or_the_lease_is_over_nothing_is_missing(lab: LabOnMoto) -> None:
    lab.lease(nodes=2)
    lab.scale(2)
    assert released(lab) == {"over": False, "missing": 0}
    lease, command = lab.kept(), Command.from_json(lab.command())
    lab.scale(1)
    lab.at(120)

    assert released(lab) == {
        "over": True,
        "reason": document(
            reason(
                "capacity.lease-not-in-force",
                lease=reason("lease.of-owner", owner="alice"),
                pool="gpu",
                opens=EIGHT,
                closes=EIGHT + timedelta(hours=2),
            )
        ),
        "missing": 0,
    }
    run: dict[str, object] = {"command": lab.command()}
    assert missing_nodes.release(run, lab.capacity, command, lease) == 0
    assert lab.entries("scaled") == lab.entries("degraded") == []


def test_a_size_that_somebody_raised_meanwhile_is_lowered_again(lab: LabOnMoto) -> None:
    one_of_two(lab)

    def raised(_service: str, operation: str, _given: object) -> None:
        if operation == "TransactWriteItems":
            both_are_ordered(lab)

    with aws_calls.heard(raised):
        released(lab)

    assert lab.sizes["desiredSize"] == 1
    assert [each.nodes for each in lab.entries("scaled")] == [1, 1]


def test_what_is_missing_is_freed_after_who_wrote_first_and_later_where_they_go_on(lab: LabOnMoto) -> None:
    one_of_two(lab)

    with (
        others_write_first(lab) as seen,
        pytest.raises(TryLater, match="the hold for the missing nodes of alice's lease is freed later"),
    ):
        released(lab)
    assert len(seen) == 3
    with others_write_first(lab, times=1):
        assert released(lab)["missing"] == 1


def instance(name: str, state: str = "running") -> Instance:
    at: datetime = EIGHT
    return Instance(name, "g5.xlarge", "a", state, at, None, "g", "")


@pytest.mark.parametrize(
    ("members", "instances", "there"),
    [
        (None, [instance("i-1")], 0),
        (["i-1", "i-2"], [instance("i-1"), instance("i-2", "pending")], 2),
        (["i-1", "i-2"], [instance("i-1"), instance("i-2", "terminated"), instance("i-3")], 1),
        # EC2 does not list it yet.
        (["i-1", "i-2"], [instance("i-1")], 2),
    ],
)
def test_nodes_are_there_that_stay(members: list[str] | None, instances: list[Instance], there: int) -> None:
    found = (
        None
        if members is None
        else Controller(
            "g", 0, 2, 2, (*(Member(each, "a") for each in members), Member("i-3", "a", leaving=True))
        )
    )

    assert len(Seen(NODE_GROUP, controller=found, instances=tuple(instances)).there) == there
