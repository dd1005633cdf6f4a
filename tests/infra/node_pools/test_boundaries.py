"""The roles to which the failsafe writes its lock: what a policy written to them may give at the most."""

import json
from fnmatch import fnmatchcase
from typing import Any

import pytest
from moto.iam.aws_managed_policies import aws_managed_policies_data

from tests.infra.conftest import Assembly, Template
from tests.infra.filled import filled
from tests.infra.test_permissions import listed

LONGEST = 6_144
"""Characters of a managed policy, white space not counted (IAM user guide, reference_iam-quotas)."""


def boundary_of(cluster: Template, role: str) -> Any:
    """The name and the document of a role's boundary."""
    held = cluster.one("AWS::IAM::Role", RoleName=role)["PermissionsBoundary"]["Ref"]
    policy = cluster.resources[held]["Properties"]
    return policy["ManagedPolicyName"], policy["PolicyDocument"]


def test_karpenter_s_boundary_is_all_that_karpenter_may_and_no_function_of_ours_can_take_that_away(
    karpenter: Assembly,
) -> None:
    """Those that take the failsafe's lock off the role may delete every inline policy of it."""
    cluster, named = karpenter.template("gpu-lab-cluster"), "gpu-lab-ap-northeast-2-karpenter"
    name, document = boundary_of(cluster, named)
    role = cluster.one("AWS::IAM::Role", RoleName=named)
    logical = cluster.name("AWS::IAM::Role", RoleName=named)

    assert name == named
    assert role["ManagedPolicyArns"] == [role["PermissionsBoundary"]]
    assert "Policies" not in role
    assert {"Ref": logical} not in [
        holder for policy in cluster.properties("AWS::IAM::Policy") for holder in policy["Roles"]
    ]
    assert len(json.dumps(filled(document), separators=(",", ":"))) < LONGEST


def test_a_karpenter_that_is_not_the_lab_s_keeps_its_role(adopted: Assembly) -> None:
    controller = adopted.template("gpu-lab-controller")
    assert "TheirKarpenter" not in {role.get("RoleName") for role in controller.properties("AWS::IAM::Role")}


def managed_policies(cluster: Template, role: str) -> list[str]:
    arns = cluster.one("AWS::IAM::Role", RoleName=role)["ManagedPolicyArns"]
    return [filled(arn).rpartition("/")[2] for arn in arns]


@pytest.mark.parametrize("windows", [False, True])
def test_auto_mode_s_boundary_allows_all_that_aws_s_own_policies_give(
    auto_mode: Assembly, windows: bool
) -> None:
    """AWS's policies as moto has recorded them."""
    cluster = auto_mode.template("gpu-lab-cluster")
    role = "gpu-lab-ap-northeast-2-control-plane"
    name, document = boundary_of(cluster, role)
    allowed = [action for each in document["Statement"] for action in listed(each["Action"])]
    recorded = json.loads(aws_managed_policies_data)
    policies = managed_policies(cluster, role) + (["AmazonEKSVPCResourceController"] if windows else [])
    given = {
        action
        for policy in policies
        for statement in recorded[policy]["Document"]["Statement"]
        for action in listed(statement["Action"])
    }

    assert name == role
    assert len(given) > 20
    assert not [action for action in given if not any(fnmatchcase(action, wanted) for wanted in allowed)]


def test_auto_mode_s_boundary_lets_no_written_policy_rule_the_account(auto_mode: Assembly) -> None:
    _, document = boundary_of(auto_mode.template("gpu-lab-cluster"), "gpu-lab-ap-northeast-2-control-plane")
    allowed = {action for each in document["Statement"] for action in listed(each["Action"])}

    assert "*" not in allowed
    assert {action for action in allowed if action.startswith(("iam:", "sts:"))} == {
        "iam:AddRoleToInstanceProfile",
        "iam:CreateServiceLinkedRole",
        "iam:PassRole",
    }
