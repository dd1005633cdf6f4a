"""The first step of the cluster's stack: in zones that EKS refuses, it ends before anything else exists."""

import pytest

from local.assembly import synthesise
from local.aws.ec2 import zones
from tests.scenarios.conftest import LAB

REGION = "ap-northeast-2"


@pytest.mark.parametrize(
    ("dealt", "why"),
    [
        (
            {"a": "apne2-az1", "b": "use1-az3", "c": "apne2-az2"},
            f"EKS takes no subnet in {REGION}b, which is use1-az3",
        ),
        ({"a": "apne2-az1", "d": "apne2-az2"}, f"this account has no zone {REGION}b"),
    ],
)
def test_a_first_deploy_in_refused_zones_ends_before_the_network_exists(aws, dealt, why):
    # given an account that AWS dealt these zones, and the lab as it is deployed to AWS
    zones.deal(REGION, dealt)
    before = aws.call("ec2", "describe_vpcs")["Vpcs"]
    assembly = synthesise(LAB)
    aws.embedded.assets.read(assembly.folder)
    cluster = next(stack for stack in assembly.stacks() if stack.name.endswith("-cluster"))

    # when the cluster's stack is deployed
    stack = aws.embedded.deploy(cluster)

    # then it fails with the reason and what to write, and no network was created
    assert stack.status == "ROLLBACK_COMPLETE"
    assert why in stack.failure()
    assert "write zones: [" in stack.failure()
    assert not [event for event in stack.events if event["ResourceType"].startswith(("AWS::EC2", "AWS::EKS"))]
    assert aws.call("ec2", "describe_vpcs")["Vpcs"] == before
