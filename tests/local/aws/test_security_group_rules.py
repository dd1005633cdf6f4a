"""Rules as EC2 tells them apart, in the embedded AWS: what an experiment takes is gone, what it gives is there once."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from lamplighter.adapters.aws.capacity.security_groups import SecurityGroups
from lamplighter.domain.experiments.rules import TrafficRule, ephemeral, vpc_wide
from local.aws.ec2.security_group_rules import install

REGION = "ap-northeast-2"
CIDR = "192.168.0.0/16"


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """The two groups of a lab's nodes with their two rules, each with a description."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    install()
    with mock_aws():
        ec2: Any = boto3.client("ec2")
        vpc = ec2.create_vpc(CidrBlock=CIDR)["Vpc"]["VpcId"]
        node, auxiliary = (
            ec2.create_security_group(
                GroupName=name,
                Description="of the nodes",
                VpcId=vpc,
                TagSpecifications=[
                    {
                        "ResourceType": "security-group",
                        "Tags": [
                            {"Key": "Name", "Value": name},
                            {"Key": "lamplighter:lab", "Value": "gpu-lab"},
                        ],
                    }
                ],
            )["GroupId"]
            for name in ("gpu-lab-node", "gpu-lab-node-group-sg")
        )
        pair = {"GroupId": node, "Description": "Node to node ingress on ephemeral ports"}
        ports = {"IpProtocol": "tcp", "FromPort": 1025, "ToPort": 65535}
        ec2.authorize_security_group_ingress(
            GroupId=node, IpPermissions=[{**ports, "UserIdGroupPairs": [pair]}]
        )
        everything = {
            "IpProtocol": "-1",
            "IpRanges": [{"CidrIp": CIDR, "Description": "Everything from the VPC"}],
        }
        ec2.authorize_security_group_ingress(GroupId=auxiliary, IpPermissions=[everything])
        yield node, auxiliary


def pair_of(groups: tuple[str, str]) -> list[TrafficRule]:
    rules = SecurityGroups().rules(groups)
    found = [ephemeral(rules, groups[0]), vpc_wide(rules, groups[1], CIDR)]
    return [rule for rule in found if rule is not None]


def test_the_pair_is_found_with_its_descriptions(groups: tuple[str, str]) -> None:
    assert [rule.description for rule in pair_of(groups)] == [
        "Node to node ingress on ephemeral ports",
        "Everything from the VPC",
    ]
    assert SecurityGroups().named("gpu-lab", ("gpu-lab-node", "nobody")) == {"gpu-lab-node": groups[0]}
    assert SecurityGroups().named("physics", ("gpu-lab-node",)) == {}


def test_what_is_taken_is_gone_and_taking_it_again_is_nothing(groups: tuple[str, str]) -> None:
    pair = pair_of(groups)
    for rule in [*pair, *pair]:
        SecurityGroups().take(rule)
    assert pair_of(groups) == []


def test_what_is_given_is_there_once_and_as_it_was(groups: tuple[str, str]) -> None:
    pair = pair_of(groups)
    for rule in pair:
        SecurityGroups().take(rule)
    for rule in [*pair, *pair]:
        SecurityGroups().give(rule)
    assert list(SecurityGroups().rules(groups)) == pair


def test_a_schedule_that_finds_its_rule_there_is_refused(groups: tuple[str, str]) -> None:
    [rule, _] = pair_of(groups)
    ec2: Any = boto3.client("ec2")
    with pytest.raises(ClientError, match=r"InvalidPermission\.Duplicate"):
        ec2.authorize_security_group_ingress(GroupId=rule.group, IpPermissions=[rule.permission()])
