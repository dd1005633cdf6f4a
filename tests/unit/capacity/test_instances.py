"""How instances are terminated: those that EC2 does not know or will not end do not keep the others."""

import boto3
import pytest

from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.errors import OutsideFailed
from tests.unit import aws_calls
from tests.unit.lab_on_moto import IMAGE, LabOnMoto

UNKNOWN = "i-0123456789abcdef0"


@pytest.fixture
def ids(lab: LabOnMoto) -> list[str]:
    made = boto3.client("ec2").run_instances(ImageId=IMAGE, MinCount=3, MaxCount=3)
    return [each["InstanceId"] for each in made["Instances"]]


def running(ids: list[str]) -> list[str]:
    described = boto3.client("ec2").describe_instances(InstanceIds=ids)["Reservations"]
    return [
        one["InstanceId"]
        for each in described
        for one in each["Instances"]
        if one["State"]["Name"] == "running"
    ]


def test_an_unknown_instance_keeps_no_other(ids: list[str]) -> None:
    Instances().terminate([UNKNOWN, *ids])
    assert running(ids) == []


def test_a_protected_instance_keeps_no_other_and_is_told(ids: list[str]) -> None:
    boto3.client("ec2").modify_instance_attribute(InstanceId=ids[0], DisableApiTermination={"Value": True})
    with pytest.raises(OutsideFailed, match=ids[0]):
        Instances().terminate(ids)
    assert running(ids) == [ids[0]]


def test_one_call_is_enough_for_instances_that_all_end(ids: list[str]) -> None:
    calls: list[str] = []
    with aws_calls.heard(lambda _service, operation, _given: calls.append(operation)):
        Instances().terminate(ids)
    assert (calls, running(ids)) == (["TerminateInstances"], [])
