"""Instances that a service operates are hidden, also from their owner, unless a call asks for them.

Source: EC2 user guide, amazon-ec2-managed-instances, "Managed resource visibility settings".
"""

import json

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.fleets.fleet_lab import FleetLab

TAGS = {"eks:eks-cluster-name": "lab", "eks:kubernetes-node-pool-name": "lab-gpu"}
WANTED = [{"Name": "tag:eks:kubernetes-node-pool-name", "Values": ["lab-gpu"]}]


@pytest.fixture
def lab(aws):
    aws.hold()
    lab = FleetLab(aws)
    lab.template("auto", tags=TAGS, Operator={"Principal": "eks.amazonaws.com"})
    return lab


def launched(lab) -> str:
    fleet = lab.fleet(template="auto", tags=TAGS)
    [instance] = fleet["Instances"][0]["InstanceIds"]
    return str(instance)


def shown(lab, **asked) -> list[str]:
    found = lab.aws.call("ec2", "describe_instances", **asked)["Reservations"]
    return [one["InstanceId"] for each in found for one in each["Instances"]]


def test_a_list_shows_what_a_service_operates_only_to_a_call_that_asks_for_it(lab):
    instance = launched(lab)
    own = lab.instance(lab.fleet())["InstanceId"]

    assert shown(lab) == [own]
    assert shown(lab, Filters=WANTED) == []
    assert shown(lab, Filters=WANTED, IncludeManagedResources=False) == []
    assert shown(lab, Filters=WANTED, IncludeManagedResources=True) == [instance]
    assert set(shown(lab, IncludeManagedResources=True)) == {instance, own}
    assert shown(lab, InstanceIds=[instance]) == [instance]


def test_an_instance_says_who_operates_it(lab):
    launched(lab)
    [found] = lab.aws.call("ec2", "describe_instances", Filters=WANTED, IncludeManagedResources=True)[
        "Reservations"
    ]

    assert found["Instances"][0]["Operator"] == {"Managed": True, "Principal": "eks.amazonaws.com"}


def test_nobody_else_ends_it(lab):
    instance = launched(lab)

    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        lab.aws.call("ec2", "terminate_instances", InstanceIds=[instance])


def test_no_event_tells_a_change_of_its_state(lab):
    url, arn = lab.aws.queue("states")
    pattern = json.dumps({"source": ["aws.ec2"]})
    lab.aws.call("events", "put_rule", Name="states", EventPattern=pattern)
    lab.aws.call("events", "put_targets", Rule="states", Targets=[{"Id": "queue", "Arn": arn}])

    launched(lab)
    own = lab.instance(lab.fleet())["InstanceId"]
    lab.clock.sleep(300)

    told = lab.aws.call("sqs", "receive_message", QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert {json.loads(each["Body"])["detail"]["instance-id"] for each in told} == {own}
