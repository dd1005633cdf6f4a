"""What the role of the failsafe's machine may do: end instances of its pools, and deny their launches; nothing else.

A permissions boundary holds the role to the same statements. One of them writes a policy of another role, and IAM
cannot limit what that policy says. So a role of the lab has a boundary of its own, without which the machine may not
write to it: whatever it writes gives nothing beyond that. A role that the lab adopts has the boundary that
its owner gave it.
"""

from collections.abc import Sequence

from stacks.constructs.failsafe.ended_pool import EndedPool
from stacks.constructs.grants import Grants
from stacks.names import Names


def rights(names: Names, pools: Sequence[EndedPool]) -> list[Grants]:
    """The IAM statements. What it may do in the cluster is said by RBAC, for the group of its access entry."""
    granted = [
        Grants(["eks:DescribeCluster"], [names.cluster_arn]),
        Grants(
            ["ec2:DescribeInstances", "ec2:DescribeTags"], ["*"], wide="EC2 takes no resource for reading."
        ),
    ]
    ended = [pool for pool in pools if pool.ends_in_ec2]
    if ended:
        [cluster_tag] = {key for pool in ended for key in pool.tags if key != pool.pool_tag}
        [pool_tag] = {pool.pool_tag for pool in ended}
        tagged = {
            f"aws:ResourceTag/{cluster_tag}": names.cluster,
            f"aws:ResourceTag/{pool_tag}": [pool.node_pool for pool in ended],
        }
        granted.append(
            Grants(
                ["ec2:TerminateInstances"],
                [names.arn("ec2", "instance/*")],
                {"StringEquals": tagged},
                wide="Instances come and go; the condition on the controller's tags names their pools.",
            )
        )
    granted += _locking(names, pools)
    if any(pool.may_switch_off for pool in pools):
        off = {
            f"eks:{part}Enabled": "false"
            for part in ("blockStorage", "computeConfig", "elasticLoadBalancing")
        }
        granted.append(Grants(["eks:UpdateClusterConfig"], [names.cluster_arn], {"Bool": off}))
    return granted


def _locking(names: Names, pools: Sequence[EndedPool]) -> list[Grants]:
    locked = {(pool.locked, pool.boundary) for pool in pools if pool.locked is not None}
    return [
        Grants(
            ["iam:PutRolePolicy"],
            [names.any_role_arn(role)],
            {"StringEquals": {"iam:PermissionsBoundary": names.policy_arn(boundary)}} if boundary else {},
        )
        for role, boundary in sorted(locked, key=str)
    ]
