"""The IAM statements about managed node groups, by the group's name and EKS's tags."""

from lamplighter.lab.model import Lab
from stacks.constructs.grants import Grants
from stacks.names import Names

SEEING = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLifecycleHooks",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplateVersions",
)
TOGETHER = 10
"""Pools in a statement that names both groups and tags: half of a long one would repeat all of its tags."""


class NodeGroupRights:
    """The IAM statements about the pools that are node groups."""

    def __init__(self, lab: Lab, names: Names) -> None:
        self._names = names
        pools = lab.pools_with("group")
        self._has_zones = any(lab.pools[pool].zones[1:] for pool in pools)
        self._nodegroup_names = [lab.nodegroup_name(pool) for pool in pools]
        self._group_names = [
            lab.pools[pool].auto_scaling_group or f"{lab.group_prefix(pool)}*" for pool in pools
        ]

    def off_switch(self) -> list[Grants]:
        """Through EKS, and on the Auto Scaling group behind it."""
        return [self._on_nodegroups("UpdateNodegroupConfig"), *self._on_groups("UpdateAutoScalingGroup")]

    def describing(self) -> list[Grants]:
        """Reading the node groups."""
        return [self._on_nodegroups("DescribeNodegroup")]

    def seeing(self) -> list[Grants]:
        """Reading node groups, the Auto Scaling groups behind them, and instances."""
        return [
            self._on_nodegroups("DescribeNodegroup", "DescribeUpdate", "ListUpdates"),
            Grants(["eks:DescribeUpdate", "eks:ListUpdates"], [self._names.cluster_arn]),
            Grants(SEEING, ["*"], wide="EC2 and Auto Scaling take no resource for reading."),
        ]

    def sizing(self) -> list[Grants]:
        """Writing a size through EKS, and through the Auto Scaling group if EKS is stuck."""
        return [
            self._on_nodegroups("UpdateNodegroupConfig", "DescribeUpdate", "ListUpdates"),
            Grants(["eks:DescribeUpdate", "eks:ListUpdates"], [self._names.cluster_arn]),
            *self._on_groups(
                "CompleteLifecycleAction",
                "TerminateInstanceInAutoScalingGroup",
                "UpdateAutoScalingGroup",
                *(("SuspendProcesses",) if self._has_zones else ()),
            ),
        ]

    def ending_strays(self) -> list[Grants]:
        """Ending instances with a pool's tags that are in no group any more."""
        return [
            Grants(
                ["ec2:TerminateInstances"],
                [self._names.arn("ec2", "instance/*")],
                {
                    "StringEquals": {
                        "ec2:ResourceTag/eks:cluster-name": self._names.cluster,
                        "ec2:ResourceTag/eks:nodegroup-name": self._nodegroup_names,
                    }
                },
                wide="Instances come and go; the condition on EKS's tags names the pool they belong to.",
            )
        ]

    def bounding(self) -> list[Grants]:
        """Reading the pools' node groups, and writing their bounds through EKS alone."""
        return [
            self._on_nodegroups("DescribeNodegroup", "DescribeUpdate", "UpdateNodegroupConfig"),
            Grants(["eks:DescribeUpdate"], [self._names.cluster_arn]),
        ]

    def _on_nodegroups(self, *actions: str) -> Grants:
        """Actions on the pools' own node groups."""
        return Grants(
            [f"eks:{action}" for action in actions],
            [self._names.nodegroup_arn(name) for name in self._nodegroup_names],
            wide="The ARN of a node group ends in an id that EKS chooses; cluster and group are named.",
        )

    def _on_groups(self, *actions: str) -> list[Grants]:
        """Actions on the pools' Auto Scaling groups, by their names or EKS's prefix, and by EKS's tags."""
        return [
            Grants(
                [f"autoscaling:{action}" for action in actions],
                [
                    self._names.autoscaling_group_arn(name)
                    for name in self._group_names[first : first + TOGETHER]
                ],
                {
                    "StringEquals": {
                        "autoscaling:ResourceTag/eks:cluster-name": self._names.cluster,
                        "autoscaling:ResourceTag/eks:nodegroup-name": self._nodegroup_names[
                            first : first + TOGETHER
                        ],
                    }
                },
                wide="The ARN of a group contains a generated id; the condition on EKS's tags names the pool.",
            )
            for first in range(0, len(self._group_names), TOGETHER)
        ]
