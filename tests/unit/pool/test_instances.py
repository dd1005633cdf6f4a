"""EC2's answer about an instance as a value, above all when it stopped costing money."""

from datetime import UTC, datetime

import boto3
import pytest
from botocore.stub import Stubber

from lamplighter.adapters.aws.capacity.instances import Instances

LAUNCHED = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
ENDED = datetime(2026, 12, 1, 8, 20, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        ("running", None),
        ("shutting-down", ENDED),  # EC2 bills no instance that is on its way out, however long that takes
        ("terminated", ENDED),
    ],
)
def test_an_instance_has_cost_until_its_termination_began(state: str, ended: datetime | None) -> None:
    ec2 = boto3.client("ec2", region_name="ap-northeast-2")
    reason = "" if state == "running" else f"User initiated ({ENDED:%Y-%m-%d %H:%M:%S} GMT)"
    instance = {
        "InstanceId": "i-0abc",
        "LaunchTime": LAUNCHED,
        "State": {"Name": state},
        "StateTransitionReason": reason,
    }
    with Stubber(ec2) as stub:
        stub.add_response("describe_instances", {"Reservations": [{"Instances": [instance]}]})
        (found,) = Instances(ec2).tagged({"eks:nodegroup-name": "lab-ng-gpu"}, "lab/lab-ng-gpu")
    assert found.ended == ended
