"""Spot Instances in the templates: the group, the event of EC2, and what three functions may read and start."""

import json
from collections.abc import Callable

import pytest

from tests.infra.conftest import Assembly, Template

SPOT_READS = ("ec2:DescribeSpotInstanceRequests", "ec2:DescribeSpotPriceHistory")
GUARDS = "gpu-lab-spot-taken"


@pytest.fixture(scope="module")
def spot(synthesise: Callable[..., Assembly]) -> Assembly:
    return synthesise(pools={"gpu": {"buy": "spot"}, "sure": {}})


def test_only_the_group_of_a_spot_pool_has_spot_instances(spot: Assembly) -> None:
    groups = spot.template("gpu-lab-cluster").properties("AWS::EKS::Nodegroup")

    assert {group["NodegroupName"]: group["CapacityType"] for group in groups} == {
        "gpu-lab-ng-1": "ON_DEMAND",
        "gpu-lab-ng-gpu": "SPOT",
        "gpu-lab-ng-sure": "ON_DEMAND",
    }


def test_ec2_s_notice_starts_the_guard_and_is_worth_nothing_after_two_minutes(spot: Assembly) -> None:
    rule = spot.template("gpu-lab-controller").one("AWS::Events::Rule", Name=GUARDS)

    assert rule["EventPattern"] == {
        "source": ["aws.ec2"],
        "detail-type": ["EC2 Spot Instance Interruption Warning"],
    }
    (target,) = rule["Targets"]
    assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] == 120
    assert "Guard" in json.dumps(target["Arn"])


def readers(template: Template, action: str) -> set[str]:
    """The functions whose policies allow an action."""
    return {
        str(policy["PolicyName"]).split("Role")[0].removeprefix("Functions")
        for policy in template.properties("AWS::IAM::Policy")
        if action in json.dumps(policy["PolicyDocument"])
    }


def test_a_lab_without_spot_has_none_of_it(controller: Template) -> None:
    text = json.dumps(controller.resources)

    assert not [action for action in SPOT_READS if action in text]
    assert GUARDS not in text


def test_only_those_who_meter_read_prices_and_only_the_guard_reads_requests(spot: Assembly) -> None:
    template = spot.template("gpu-lab-controller")

    assert len(readers(template, SPOT_READS[1])) == 2
    assert len(readers(template, SPOT_READS[0])) == 1
    assert readers(template, SPOT_READS[0]) < readers(template, SPOT_READS[1])


def test_the_doctor_reads_whether_the_account_has_the_role_of_spot(
    spot: Assembly, controller: Template
) -> None:
    assert len(readers(spot.template("gpu-lab-controller"), "AWSServiceRoleForEC2Spot")) == 1
    assert not readers(controller, "AWSServiceRoleForEC2Spot")
