"""EKS Auto Mode of a cluster: compute, block storage and load balancing, which EKS switches on and off together.

It has no built-in pool: those would start nodes that no lease justifies. EKS then takes no role for their nodes
(https://docs.aws.amazon.com/eks/latest/userguide/auto-enable-existing.html,
https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3238).
"""

from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam

_WORKS = "EKS Auto Mode does its work on the lab's behalf with this policy."
OF_AUTO_MODE: Mapping[str, str] = {
    "AmazonEKSBlockStoragePolicy": _WORKS,
    "AmazonEKSComputePolicy": _WORKS,
    "AmazonEKSLoadBalancingPolicy": _WORKS,
    "AmazonEKSNetworkingPolicy": _WORKS,
}


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
