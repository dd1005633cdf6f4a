"""The curfew in the template: two rails a pool, on the lab's clock, that need none of our functions."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.infra.conftest import Assembly, Template

SynthesiseLab = Callable[..., Assembly]
LATEST = 10 * 60


@pytest.fixture(scope="module")
def controller(synthesise: SynthesiseLab) -> Template:
    guard = {"curfew": "23:57"}
    pools = {"gpu": {}, "late": {"curfew": "04:00"}}
    return synthesise(time_zone="Asia/Seoul", guard=guard, pools=pools).template("gpu-lab-controller")


def rails(template: Template) -> dict[str, dict[str, Any]]:
    return {each["Name"]: each for each in template.properties("AWS::Scheduler::Schedule")}


def test_every_pool_has_two_rails_on_the_labs_clock(controller: Template) -> None:
    found = rails(controller)

    assert {name: rail["ScheduleExpression"] for name, rail in found.items()} == {
        "curfew-gpu-eks": "cron(57 23 * * ? *)",
        "curfew-gpu-group": "cron(2 0 * * ? *)",
        "curfew-late-eks": "cron(0 4 * * ? *)",
        "curfew-late-group": "cron(5 4 * * ? *)",
    }
    for rail in found.values():
        assert rail["ScheduleExpressionTimezone"] == "Asia/Seoul"
        assert rail["FlexibleTimeWindow"] == {"Mode": "OFF"}
        assert rail["State"] == "ENABLED"


def test_the_rails_go_to_zero_through_aws_alone(controller: Template) -> None:
    by_eks, by_group = (rails(controller)[f"curfew-gpu-{rail}"]["Target"] for rail in ("eks", "group"))

    assert by_eks["Arn"] == "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig"
    assert json.loads(by_eks["Input"]) == {
        "ClusterName": "gpu-lab",
        "NodegroupName": "gpu-lab-ng-gpu",
        "ScalingConfig": {"MinSize": 0, "DesiredSize": 0},
    }
    assert by_group["Arn"] == "arn:aws:scheduler:::aws-sdk:autoscaling:updateAutoScalingGroup"
    parts = by_group["Input"]["Fn::Join"][1]
    group = next(part["Fn::GetAtt"] for part in parts if isinstance(part, dict))
    assert group[1] == "AutoScalingGroupName"
    assert controller.resources[group[0]]["Type"] == "Custom::LamplighterGroup"
    sent = "".join("eks-group" if isinstance(part, dict) else part for part in parts)
    assert json.loads(sent) == {"AutoScalingGroupName": "eks-group", "MinSize": 0, "DesiredCapacity": 0}
    for target in (by_eks, by_group):
        role = target["RoleArn"]["Fn::GetAtt"][0]
        assert controller.resources[role]["Properties"]["RoleName"].endswith("-failsafe")


def test_the_last_retry_of_a_rail_comes_before_anybody_may_open_again(controller: Template) -> None:
    for name, rail in rails(controller).items():
        begins = 5 * 60 if name.endswith("-group") else 0
        retry = rail["Target"]["RetryPolicy"]
        # It fires up to a minute late.
        assert begins + 60 + retry["MaximumEventAgeInSeconds"] < LATEST
        assert rail["Target"]["DeadLetterConfig"]["Arn"]


def test_a_lab_without_a_curfew_has_no_recurring_schedule(synthesise: SynthesiseLab) -> None:
    controller = synthesise().template("gpu-lab-controller")
    assert not controller.properties("AWS::Scheduler::Schedule")
    assert not controller.properties("Custom::LamplighterGroup")


def test_a_pool_that_is_only_watched_has_its_rails_but_they_do_not_fire(synthesise: SynthesiseLab) -> None:
    adopted = synthesise(
        guard={"curfew": "04:00"}, cluster={"existing": "theirs"}, pools={"gpu": {"existing": "their-gpus"}}
    ).template("gpu-lab-controller")
    assert {rail["State"] for rail in rails(adopted).values()} == {"DISABLED"}
