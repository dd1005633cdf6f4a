"""Which nodes an order removes, and when it cannot be written."""

import boto3
import pytest

from lamplighter.application.capacity.sizes import Direction, write
from lamplighter.errors import BadInput
from tests.unit import aws_calls
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.pool.test_sizes import bounds, no_group, no_node_group, order


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
