"""Denies the nodes of the lab to resize a guarded pool, end its nodes or change its group.

If a node's metadata service answers pods, any pod can act as the node's role. The autoscaler's policy on that role
may resize every group with a tag that EKS sets by itself. A Deny overrides any Allow of a role.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam

from lamplighter.domain.capacity.kinds import identity
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
    """Denies a node's role to resize the pools, by the tags that EKS and Karpenter put on groups and instances."""
    nodegroups = [lab.nodegroup_name(pool) for pool in lab.pools if pool not in lab.node_pools]
    if nodegroups:
        tagged = {
            "aws:ResourceTag/eks:cluster-name": lab.cluster_name,
            "aws:ResourceTag/eks:nodegroup-name": nodegroups,
        }
        _deny(role, "NoSizingOfPools", OF_GROUPS, ["*"], tagged)
        _deny(role, "NoEndingOfNodes", OF_INSTANCES, [names.arn("ec2", "instance/*")], tagged)
        _deny(
            role,
            "NoChangeOfPools",
            OF_NODEGROUPS,
            [names.arn("eks", f"nodegroup/{lab.cluster_name}/{each}/*") for each in nodegroups],
        )
    for number, tags in enumerate(_tags_of_node_pools(lab)):
        _deny(
            role,
            f"NoEndingOfNodePools{number or ''}",
            OF_INSTANCES,
            [names.arn("ec2", "instance/*")],
            {f"aws:ResourceTag/{key}": value for key, value in tags.items()},
        )


def _tags_of_node_pools(lab: Lab) -> list[dict[str, list[str]]]:
    """The tags that prove instances to be the lab's, for each kind of NodePool: the kinds have other keys."""
    found: dict[str, dict[str, list[str]]] = {}
    for pool in lab.node_pools:
        of_kind = found.setdefault(lab.pools[pool].kind, {})
        for key, value in identity(lab, pool).tags.items():
            of_kind[key] = list(dict.fromkeys([*of_kind.get(key, []), value]))
    return list(found.values())


def _deny(
    role: iam.Role,
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    tagged: Mapping[str, object] | None = None,
) -> None:
    role.add_to_policy(
        iam.PolicyStatement(
            sid=sid,
            effect=iam.Effect.DENY,
            actions=list(actions),
            resources=list(resources),
            conditions={"StringEquals": dict(tagged)} if tagged else None,
        )
    )
