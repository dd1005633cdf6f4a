"""Denies the nodes of the lab to resize a guarded pool, end its nodes or change its group.

If a node's metadata service answers pods, any pod can act as the node's role. The autoscaler's policy on that role
may resize every group with a tag that EKS sets by itself. A Deny overrides any Allow of a role.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam
from constructs import Construct

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


def denied_sizing(scope: Construct, construct_id: str, lab: Lab, names: Names) -> iam.ManagedPolicy:
    """A policy for every role of nodes, by the tags that EKS and Karpenter put on groups and instances.

    One policy for all: a copy in each role would have the stack's template grow by the square of the pools.
    """
    policy = iam.ManagedPolicy(scope, construct_id, description="Denies nodes to resize the lab's pools")
    nodegroups = [lab.nodegroup_name(pool) for pool in lab.pools_with("group")]
    if nodegroups:
        tagged = {
            "aws:ResourceTag/eks:cluster-name": lab.cluster_name,
            "aws:ResourceTag/eks:nodegroup-name": nodegroups,
        }
        both = [names.autoscaling_group_arn("*"), names.arn("ec2", "instance/*")]
        _deny(policy, "NoSizingOfPools", (*OF_GROUPS, *OF_INSTANCES), both, tagged)
        # Also of groups that are no pools: nodes change none of them.
        _deny(policy, "NoChangeOfPools", OF_NODEGROUPS, [names.nodegroup_arn("*")])
    for number, tags in enumerate(_tags_of_node_pools(lab)):
        _deny(
            policy,
            f"NoEndingOfNodePools{number or ''}",
            OF_INSTANCES,
            [names.arn("ec2", "instance/*")],
            {f"aws:ResourceTag/{key}": value for key, value in tags.items()},
        )
    return policy


def _tags_of_node_pools(lab: Lab) -> list[dict[str, list[str]]]:
    """The tags that prove instances to be the lab's, for each kind of NodePool: the kinds have other keys."""
    found: dict[str, dict[str, list[str]]] = {}
    for pool in lab.pools_with("node pool"):
        of_kind = found.setdefault(lab.pools[pool].kind, {})
        for key, value in identity(lab, pool).tags.items():
            of_kind[key] = list(dict.fromkeys([*of_kind.get(key, []), value]))
    return list(found.values())


def _deny(
    policy: iam.ManagedPolicy,
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    tagged: Mapping[str, object] | None = None,
) -> None:
    policy.add_statements(
        iam.PolicyStatement(
            sid=sid,
            effect=iam.Effect.DENY,
            actions=list(actions),
            resources=list(resources),
            conditions={"StringEquals": dict(tagged)} if tagged else None,
        )
    )
