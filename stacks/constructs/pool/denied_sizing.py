"""What no node of the lab may do: size a guarded pool, end its nodes or change its group.

Any pod of a node whose metadata service answers pods acts as the node's role, and the autoscaler's policy there may
size every group that carries a tag which EKS sets by itself. A Deny outweighs whatever a role is given.
"""

from aws_cdk import aws_iam as iam

from lamplighter.lab.model import Lab
from stacks.names import Names

OF_GROUPS = ("autoscaling:*",)
"""Whatever names a group; what only reads names none, and no condition on a tag meets it."""
OF_INSTANCES = (
    "ec2:CreateTags",
    "ec2:DeleteTags",
    "ec2:RebootInstances",
    "ec2:StopInstances",
    "ec2:TerminateInstances",
)
"""The tags with them: what has lost its tags is no pool's any more."""
OF_NODEGROUPS = ("eks:DeleteNodegroup", "eks:UpdateNodegroupConfig", "eks:UpdateNodegroupVersion")


def deny_sizing(role: iam.Role, lab: Lab, names: Names) -> None:
    """Keep the pools' sizes from a node's role, by the tags that EKS puts on a node group's group and instances."""
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
