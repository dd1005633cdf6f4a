"""The role of the nodes of NodePools, and its access entry: EKS lets no node in whose role has none.

https://karpenter.sh/v1.14/reference/cloudformation/,
https://docs.aws.amazon.com/eks/latest/userguide/auto-create-node-role.html
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aws_cdk import Aws
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from lamplighter.domain.capacity.node_pool.roles import NODES
from stacks.constructs.accepted import accept_managed_policies
from stacks.names import Names

_PULLS = "Nodes pull the images of their pods from Amazon's registry."
_CLUSTER_WIDE = eks.CfnAccessEntry.AccessScopeProperty(type="cluster")


@dataclass(frozen=True)
class NodeIdentity:
    """What differs between the nodes of Karpenter and those of Auto Mode."""

    purpose: str
    entry: str
    """The type of the access entry, which says by which name and groups a node comes."""
    policies: Mapping[str, str]
    """AWS managed policies, each with its reason."""
    access_policies: tuple[str, ...] = ()
    profile: bool = field(default=False)
    """Whether the node class names an instance profile. Auto Mode makes its own."""


OF_KARPENTER = NodeIdentity(
    purpose=NODES,
    entry="EC2_LINUX",
    policies={
        "AmazonEKSWorkerNodePolicy": "EKS requires this policy on a node's role.",
        "AmazonEKS_CNI_Policy": "The VPC CNI of a node gives pods their addresses with it.",
        "AmazonEC2ContainerRegistryPullOnly": _PULLS,
        "AmazonSSMManagedInstanceCore": "SSM instead of SSH: no key pair, no open port, sessions under a role.",
    },
    profile=True,
)
OF_AUTO_MODE = NodeIdentity(
    purpose="auto-mode-node",
    entry="EC2",
    policies={
        "AmazonEKSWorkerNodeMinimalPolicy": "EKS requires this policy on the role of an Auto Mode node.",
        "AmazonEC2ContainerRegistryPullOnly": _PULLS,
    },
    access_policies=("AmazonEKSAutoNodePolicy",),
)
BY_KIND = {"karpenter": OF_KARPENTER, "auto-mode": OF_AUTO_MODE}


class NodeRole(Construct):
    """`named` is the value of the node class: the name of the role, or of its instance profile."""

    def __init__(
        self, scope: Construct, construct_id: str, *, identity: NodeIdentity, cluster_name: str, names: Names
    ) -> None:
        super().__init__(scope, construct_id)
        self.role = iam.Role(
            self,
            "Role",
            role_name=names.role(identity.purpose),
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[
                iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in identity.policies
            ],
            description=f"What the nodes of the cluster's NodePools may do ({identity.purpose})",
        )
        accept_managed_policies(self.role, identity.policies)
        self.named = self.role.role_name
        if identity.profile:
            # The lab's own, so that the controller needs no rights to make one.
            profile = iam.CfnInstanceProfile(
                self,
                "Profile",
                instance_profile_name=names.role(identity.purpose),
                roles=[self.role.role_name],
            )
            self.named = profile.ref
        self.entry = eks.CfnAccessEntry(
            self,
            "Access",
            cluster_name=cluster_name,
            principal_arn=self.role.role_arn,
            type=identity.entry,
            access_policies=[
                eks.CfnAccessEntry.AccessPolicyProperty(
                    policy_arn=f"arn:{Aws.PARTITION}:eks::aws:cluster-access-policy/{policy}",
                    access_scope=_CLUSTER_WIDE,
                )
                for policy in identity.access_policies
            ]
            or None,
        )
