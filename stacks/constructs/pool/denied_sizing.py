"""Denies the nodes of the lab to resize a guarded pool, end its nodes or change its group.

If a node's metadata service answers pods, any pod can act as the node's role. The autoscaler's policy on that role
may resize every group with a tag that EKS sets by itself. A Deny overrides any Allow of a role.
"""

from aws_cdk import aws_iam as iam

from lamplighter.lab.model import Lab
from stacks.names import Names

OF_GROUPS = ("autoscaling:*",)
"""Actions on a named group. Read-only actions name none, so no condition on a tag applies to them."""
OF_INSTANCES = (
    "ec2:CreateTags",
    "ec2:DeleteTags",
    "ec2:RebootInstances",
    "ec2:StopInstances",
    "ec2:TerminateInstances",
)
"""Also the actions on tags: a group without its tags belongs to no pool."""
OF_NODEGROUPS = ("eks:DeleteNodegroup", "eks:UpdateNodegroupConfig", "eks:UpdateNodegroupVersion")


def deny_sizing(role: iam.Role, lab: Lab, names: Names) -> None:
    """Denies a node's role to resize the pools, by the tags that EKS puts on a node group's group and instances."""
    nodegroups = [lab.nodegroup_name(pool) for pool in lab.pools]
    tagged = {
        "StringEquals": {
            "aws:ResourceTag/eks:cluster-name": lab.cluster_name,
            "aws:ResourceTag/eks:nodegroup-name": nodegroups,
        }
    }
    role.add_to_policy(
        iam.PolicyStatement(
            sid="NoSizingOfPools",
            effect=iam.Effect.DENY,
            actions=list(OF_GROUPS),
            resources=["*"],
            conditions=tagged,
        )
    )
    role.add_to_policy(
        iam.PolicyStatement(
            sid="NoEndingOfNodes",
            effect=iam.Effect.DENY,
            actions=list(OF_INSTANCES),
            resources=[names.arn("ec2", "instance/*")],
            conditions=tagged,
        )
    )
    role.add_to_policy(
        iam.PolicyStatement(
            sid="NoChangeOfPools",
            effect=iam.Effect.DENY,
            actions=list(OF_NODEGROUPS),
            resources=[names.arn("eks", f"nodegroup/{lab.cluster_name}/{each}/*") for each in nodegroups],
        )
    )
