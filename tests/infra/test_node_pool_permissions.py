"""What functions may read about the roles that launch the instances of NodePools."""

from typing import Any

import pytest

from lamplighter.lab.model import Lab
from stacks.constructs.functions.permissions import Permissions
from stacks.names import Names

OURS: dict[str, Any] = {"karpenter": {"version": "1.14.3"}}
THEIRS: dict[str, Any] = {"existing": "team", "karpenter": {"existing": True, "role": "KarpenterController"}}
UNNAMED: dict[str, Any] = {"existing": "team", "karpenter": {"existing": True}}


def seen(cluster: dict[str, Any], kind: str) -> list[str]:
    lab = Lab.model_validate(
        {"name": "lab", "region": "eu-central-1", "cluster": cluster, "pools": {"gpu": {"kind": kind}}}
    )
    grants = Permissions(lab, Names("lab", "eu-central-1", lab.cluster_name)).diagnosing()
    locks = [grant for grant in grants if "iam:ListRolePolicies" in grant.actions]
    assert all(list(grant.actions) == ["iam:ListRolePolicies"] for grant in locks)
    return [resource.rpartition("/")[2] for grant in locks for resource in grant.resources]


@pytest.mark.parametrize(("cluster", "kind", "roles"), [
    (OURS, "karpenter", ["lab-eu-central-1-karpenter"]),
    (THEIRS, "karpenter", ["KarpenterController"]),
    (UNNAMED, "karpenter", []),
    ({}, "node-group", []),
])  # fmt: skip
def test_a_diagnosis_reads_the_names_of_the_policies_of_the_launching_role_and_of_no_other(
    cluster: dict[str, Any], kind: str, roles: list[str]
) -> None:
    assert seen(cluster, kind) == roles


def examined(cluster: dict[str, Any], kind: str = "karpenter") -> dict[str, list[str]]:
    lab = Lab.model_validate(
        {"name": "lab", "region": "eu-central-1", "cluster": cluster, "pools": {"gpu": {"kind": kind}}}
    )
    permissions = Permissions(lab, Names("lab", "eu-central-1", lab.cluster_name))
    grants = permissions.examining_node_pools()
    return {action: list(grant.resources) for grant in grants for action in grant.actions}


def test_the_doctor_reads_the_named_queue_role_and_entries_of_a_lab_with_node_pools() -> None:
    found = examined(OURS)

    assert [name.rpartition(":")[2] for name in found["sqs:GetQueueUrl"]] == ["lab-karpenter"]
    assert found["iam:ListAttachedRolePolicies"] == found["iam:ListRolePolicies"]
    assert found["iam:GetRole"][0].endswith("/spot.amazonaws.com/AWSServiceRoleForEC2Spot")
    assert "access-entry/" in found["eks:DescribeAccessEntry"][0]
    assert [name.rpartition(":")[2] for name in examined(THEIRS)["sqs:GetQueueUrl"]] == ["*"]
    assert examined({}, "node-group") == {}
