"""EKS Auto Mode of a cluster: compute, block storage and load balancing, which EKS switches on and off together.

It has no built-in pool: those would start nodes that no lease justifies. EKS then takes no role for their nodes
(https://docs.aws.amazon.com/eks/latest/userguide/auto-enable-existing.html,
https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3238).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.grants import Grants, boundary

_WORKS = "EKS Auto Mode does its work on the lab's behalf with this policy."
_WIDE = "A boundary gives nothing; AWS's policies on the role are narrower, and AWS changes them."
OF_AUTO_MODE: Mapping[str, str] = {
    "AmazonEKSBlockStoragePolicy": _WORKS,
    "AmazonEKSComputePolicy": _WORKS,
    "AmazonEKSLoadBalancingPolicy": _WORKS,
    "AmazonEKSNetworkingPolicy": _WORKS,
}
# The services of AWS's policies on the role. AWS adds actions to its policies, so the boundary names no single one.
SERVICES = (
    "acm",
    "autoscaling",
    "cognito-idp",
    "ec2",
    "elasticloadbalancing",
    "kms",
    "shield",
    "wafv2",
)
TO_EC2 = {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}}


@dataclass(frozen=True)
class AutoModeRole:
    """The names of the cluster's role and of its permissions boundary, which the failsafe knows."""

    name: str
    boundary: str


def bound(scope: Construct, names: AutoModeRole) -> iam.ManagedPolicy:
    """The boundary of the role: the services of AWS's own policies on it, and of IAM what these need.

    The failsafe writes its lock to the role, and IAM cannot limit what a policy says. Without a boundary it could give
    the role any right of the account.
    """
    return boundary(
        scope,
        "Boundary",
        name=names.boundary,
        description="The most that the role of a cluster with EKS Auto Mode may ever do",
        leaves=[
            Grants([f"{service}:*" for service in SERVICES], ["*"], wide=_WIDE),
            Grants(["iam:AddRoleToInstanceProfile", "iam:CreateServiceLinkedRole"], ["*"], wide=_WIDE),
            Grants(["iam:PassRole"], ["*"], TO_EC2, wide=_WIDE),
        ],
    )


def trusted(principal: iam.IPrincipal) -> iam.IPrincipal:
    """EKS tags its sessions, by which the policies know the cluster."""
    return iam.SessionTagsPrincipal(principal)


def switched_on() -> dict[str, Any]:
    """The properties of the cluster."""
    cluster = eks.CfnCluster
    return {
        "compute_config": cluster.ComputeConfigProperty(enabled=True, node_pools=[]),
        "storage_config": cluster.StorageConfigProperty(
            block_storage=cluster.BlockStorageProperty(enabled=True)
        ),
        "kubernetes_network_config": cluster.KubernetesNetworkConfigProperty(
            elastic_load_balancing=cluster.ElasticLoadBalancingProperty(enabled=True)
        ),
    }
