"""Availability zones: an account has its own letters for them, and EKS takes no subnet in some."""

import pytest
from botocore.exceptions import ClientError

from local.aws.ec2 import zones

REGION = "ap-northeast-2"


@pytest.fixture
def subnet(aws):
    vpc = aws.call("ec2", "create_vpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    blocks = iter(range(100))

    def subnet(zone):
        block = f"10.0.{next(blocks)}.0/24"
        made = aws.call("ec2", "create_subnet", VpcId=vpc, CidrBlock=block, AvailabilityZone=zone)["Subnet"]
        return made["SubnetId"]

    return subnet


def test_letters_are_those_that_the_account_was_dealt(aws):
    zones.deal(REGION, {"a": "apne2-az3", "d": "apne2-az1"})
    found = aws.call("ec2", "describe_availability_zones")["AvailabilityZones"]
    assert {zone["ZoneName"]: zone["ZoneId"] for zone in found} == {
        f"{REGION}a": "apne2-az3",
        f"{REGION}d": "apne2-az1",
    }


@pytest.mark.parametrize("zone", [f"{REGION}z", "us-east-1a"])
def test_a_subnet_is_in_a_zone_that_the_account_has(subnet, zone):
    with pytest.raises(ClientError, match=f"following availability zones: {REGION}a, {REGION}b, "):
        subnet(zone)


def test_eks_refuses_a_subnet_in_some_zones_and_names_the_others(aws, subnet):
    zones.deal(REGION, {"a": "apne2-az1", "b": "use1-az3", "c": "apne2-az2"})
    subnets = [subnet(f"{REGION}{letter}") for letter in "ab"]

    with pytest.raises(ClientError, match=f"because {REGION}b, the targeted availability zone") as refused:
        aws.call(
            "eks",
            "create_cluster",
            name="lab",
            roleArn=aws.role("control-plane"),
            resourcesVpcConfig={"subnetIds": subnets},
        )

    answer = dict(refused.value.response)
    assert refused.value.response["Error"]["Code"] == "UnsupportedAvailabilityZoneException"
    assert answer["validZones"] == [f"{REGION}a", f"{REGION}c"]
