"""What an order writes and which nodes it removes: within bounds, only what differs, and only the chosen nodes."""

from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest

from lamplighter.application.capacity.sizes import Direction, Order, write
from lamplighter.domain.pool.pool import DeployMark
from lamplighter.errors import BadInput, TryLater
from tests.builders.leases import EIGHT, MINUTE, SECOND
from tests.unit import aws_calls
from tests.unit.lab_on_moto import LAB, NODEGROUP, Busy, LabOnMoto

QUARTER = timedelta(minutes=15)


def order(direction: Direction = Direction.DOWN, **more: Any) -> Order:
    return Order("gpu", "guard 1", "guard", direction, **{"since": EIGHT, **more})


def bounds(**sizes: int) -> None:
    eks: Any = boto3.client("eks")
    eks.update_nodegroup_config(clusterName=LAB, nodegroupName=NODEGROUP, scalingConfig=sizes)


def group_size(lab: LabOnMoto) -> int:
    found = boto3.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[lab.group])
    return found["AutoScalingGroups"][0]["DesiredCapacity"]


def no_node_group() -> None:
    boto3.client("eks").delete_nodegroup(clusterName=LAB, nodegroupName=NODEGROUP)


def no_group(lab: LabOnMoto) -> None:
    boto3.client("autoscaling").delete_auto_scaling_group(AutoScalingGroupName=lab.group, ForceDelete=True)


def scaled(lab: LabOnMoto) -> list[int | None]:
    return [entry.nodes for entry in lab.capacity.ledger.audit("gpu", EIGHT) if entry.kind == "scaled"]


@pytest.mark.parametrize(("maximum", "nodes"), [(1, 1), (2, 2), (3, 2)])
def test_no_more_is_ordered_than_the_node_group_may_have(lab: LabOnMoto, maximum: int, nodes: int) -> None:
    bounds(maxSize=maximum)
    lab.lease(nodes=2)
    assert write(lab.capacity, order(Direction.UP)).size == lab.sizes["desiredSize"] == nodes


@pytest.mark.parametrize("armed", [None, EIGHT + 129 * MINUTE], ids=["not armed", "armed for fewer leases"])
def test_no_node_is_ordered_that_the_failsafe_would_take_from_its_lease(
    lab: LabOnMoto, armed: datetime | None
) -> None:
    lab.lease(nodes=1, closes=120)
    lab.capacity.ledger.set_failsafe("gpu", armed)

    with pytest.raises(TryLater, match="failsafe of pool gpu is not armed for 22:10"):
        write(lab.capacity, order(Direction.UP))

    assert lab.sizes["desiredSize"] == 0


def test_what_runs_beyond_the_maximum_of_a_node_group_is_not_taken_for_that(lab: LabOnMoto) -> None:
    lab.scale(2)
    bounds(maxSize=1)
    lab.lease(nodes=2)
    assert write(lab.capacity, order(Direction.UP)).size == lab.sizes["desiredSize"] == 2


def test_without_its_node_group_nothing_is_ordered_again_that_was_taken(lab: LabOnMoto) -> None:
    lab.scale(1)
    no_node_group()
    asked: list[str] = []

    def meanwhile(_service: str, operation: str, _given: object) -> None:
        asked.append(operation)
        if operation == "UpdateAutoScalingGroup" and asked.count(operation) == 1:
            lab.lease(nodes=1)
            lab.generation_moves()

    with aws_calls.heard(meanwhile):
        written = write(lab.capacity, order())

    assert (written.before, written.size, group_size(lab)) == (1, 0, 0)


def test_an_order_that_stands_already_asks_eks_for_nothing(lab: LabOnMoto) -> None:
    lab.lease(nodes=2)
    lab.scale(2)

    again = write(lab.capacity, order(Direction.UP))
    bounds(minSize=1)
    lowered = write(lab.capacity, order(Direction.UP))

    assert (again.size, again.update_id) == (2, None)
    assert lowered.update_id is not None
    assert lab.sizes["minSize"] == 0


def test_an_opening_that_adds_nothing_waits_for_no_deploy_and_is_not_written_down(lab: LabOnMoto) -> None:
    lab.lease(nodes=2)
    lab.scale(2)
    lab.capacity.ledger.mark_deploy("gpu", DeployMark(EIGHT + QUARTER))

    assert write(lab.capacity, order(Direction.UP)).size == 2
    assert scaled(lab) == []
    assert (write(lab.capacity, order()).size, scaled(lab)) == (2, [2])


def test_each_lease_that_a_deploy_holds_up_is_said(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.lease(nodes=1, name="cli-2")
    lab.capacity.ledger.mark_deploy("gpu", DeployMark(EIGHT + QUARTER))

    for name in ("cli-1", "cli-2", "cli-1", None):
        with pytest.raises(TryLater, match="a deploy is writing"):
            write(lab.capacity, order(Direction.UP, lease=name))

    trail = lab.capacity.ledger.audit("gpu", EIGHT)
    assert [entry.lease for entry in trail if entry.kind == "held-up"] == ["cli-1", "cli-2", "cli-1", None]


def test_a_pool_that_moves_at_every_look_is_asked_again_later(lab: LabOnMoto) -> None:
    writes = 0

    def moves(_service: str, operation: str, _given: object) -> None:
        nonlocal writes
        if operation == "DescribeNodegroup":
            writes += 1
            lab.generation_moves()

    with (
        aws_calls.heard(moves),
        pytest.raises(TryLater, match="the leases of pool gpu changed 4 times while its size was written"),
    ):
        write(lab.capacity, order())
    assert writes == 4


@pytest.mark.parametrize(("waited", "size"), [(QUARTER - SECOND, 1), (QUARTER, 0)])
def test_eks_has_a_quarter_of_an_hour_for_its_group(lab: LabOnMoto, waited: timedelta, size: int) -> None:
    lab.scale(1)
    lab.port.nodegroups = Busy(LAB)
    asked = order(since=EIGHT - waited)

    if size:
        with pytest.raises(TryLater, match="EKS is busy"):
            write(lab.capacity, asked)
    else:
        assert write(lab.capacity, asked).update_id is None
    assert group_size(lab) == size


def test_eks_is_waited_for_where_its_group_has_nothing_to_lower(lab: LabOnMoto) -> None:
    bounds(desiredSize=1)
    lab.port.nodegroups = Busy(LAB)

    with pytest.raises(TryLater, match="EKS is busy"):
        write(lab.capacity, order(since=EIGHT - QUARTER))
    no_group(lab)
    with pytest.raises(TryLater, match="EKS is busy"):
        write(lab.capacity, order(since=EIGHT - QUARTER))


def test_a_node_group_without_a_group_takes_its_size_all_the_same(lab: LabOnMoto) -> None:
    no_group(lab)
    lab.lease(nodes=2)
    assert write(lab.capacity, order(Direction.UP)).size == lab.sizes["desiredSize"] == 2
    assert write(lab.capacity, order(without=1)).size == 2


def test_closing_to_zero_leaves_the_choice_of_nodes_to_nobody(lab: LabOnMoto) -> None:
    lab.scale(2)
    operations: list[str] = []

    with aws_calls.heard(lambda _service, operation, _given: operations.append(operation)):
        write(lab.capacity, order())

    assert "TerminateInstanceInAutoScalingGroup" not in operations
    assert lab.sizes["desiredSize"] == 0


def test_a_size_that_stands_takes_no_node_though_more_are_listed(lab: LabOnMoto) -> None:
    lab.scale(2)
    boto3.client("autoscaling").enter_standby(
        AutoScalingGroupName=lab.group, InstanceIds=lab.members[:1], ShouldDecrementDesiredCapacity=True
    )
    lab.lease(nodes=1)

    write(lab.capacity, order())

    assert len(lab.members) == 2


def test_of_more_emptied_nodes_than_are_to_go_the_others_stay(lab: LabOnMoto) -> None:
    lab.scale(2)
    first, second = lab.members
    lab.lease(nodes=1)

    write(lab.capacity, order(leaving=(first, second)))

    assert lab.members == [second]


def test_beside_the_emptied_node_the_youngest_of_the_others_goes(lab: LabOnMoto) -> None:
    bounds(maxSize=4)
    lab.scale(4)
    oldest, second, third, youngest = [each.id for each in lab.capacity.see("gpu").instances]
    lab.port.autoscaling.remove(youngest)
    lab.lease(nodes=1)

    write(lab.capacity, order(leaving=(third,)))

    assert second not in lab.members
    assert lab.members == [oldest]


def test_where_node_group_and_group_are_gone_it_is_said(lab: LabOnMoto) -> None:
    no_node_group()
    no_group(lab)
    with pytest.raises(BadInput, match="node group lab-ng-gpu is not in cluster lab; was it deleted"):
        write(lab.capacity, order())


def test_nothing_is_added_to_a_group_whose_node_group_is_gone(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    no_node_group()
    with pytest.raises(BadInput, match="was it deleted"):
        write(lab.capacity, order(Direction.UP))
