"""Adopted node groups whose Auto Scaling group EKS named before spring 2021: everything that names a group names it."""

import json
from collections.abc import Callable, Iterator

import pytest

from tests.infra.conftest import Assembly, Template

OLD = "eks-6eb9e8a0-1f2b-4c5d-8e9f-0a1b2c3d4e5f"
NEW = "eks-their-new-gpus-"


@pytest.fixture(scope="module")
def controller(synthesise: Callable[..., Assembly]) -> Template:
    """Of a lab with an old node group and one of today."""
    lab = synthesise(
        cluster={"existing": "theirs"},
        pools={
            "old": {"existing": "their-gpus", "auto_scaling_group": OLD, "instance_type": "g5.xlarge"},
            "new": {"existing": "their-new-gpus", "instance_type": "g5.xlarge"},
        },
    )
    return lab.template("gpu-lab-controller")


def group_resources(controller: Template) -> Iterator[list[str]]:
    """Of every statement that is about Auto Scaling groups, the names in its resources."""
    for policy in controller.properties("AWS::IAM::Policy"):
        for statement in policy["PolicyDocument"]["Statement"]:
            named = [text for text in _texts(statement["Resource"]) if "autoScalingGroupName/" in text]
            if named:
                yield [text.rpartition("autoScalingGroupName/")[2] for text in named]


def _texts(resource: object) -> list[str]:
    each = resource if isinstance(resource, list) else [resource]
    return [
        "".join(map(str, one["Fn::Join"][1])) if isinstance(one, dict) and "Fn::Join" in one else str(one)
        for one in each
    ]


def test_roles_may_reach_the_group_as_it_is_called(controller: Template) -> None:
    found = list(group_resources(controller))
    assert len(found) >= 3, "nodegroups, guard and the failsafe"
    assert {tuple(sorted(names)) for names in found} == {(OLD, f"{NEW}*")}


def test_events_of_the_group_wake_the_guard(controller: Template) -> None:
    patterns = [
        rule.get("EventPattern", {}).get("detail", {}) for rule in controller.properties("AWS::Events::Rule")
    ]
    named = [
        found
        for detail in patterns
        for found in (
            detail.get("AutoScalingGroupName"),
            detail.get("requestParameters", {}).get("autoScalingGroupName"),
        )
        if found
    ]

    assert named == [[OLD, {"prefix": NEW}]] * 2


def test_nothing_derives_the_name_of_an_old_group(controller: Template) -> None:
    assert "eks-their-gpus" not in json.dumps(controller.document)
