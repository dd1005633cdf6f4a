"""What each function and role may do, and on what: every resource is named where AWS allows a name.

Calls that only list (`Describe…`, `ListSchedules`) take no resource; they stand apart, under `seeing`.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam

from lamplighter.lab import Lab
from stacks.names import Names

LEDGER_READS = ["dynamodb:GetItem", "dynamodb:Query"]
LEDGER_WRITES = [
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
]
SEEING_CAPACITY = [
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeLifecycleHooks",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeInstances",
]


def allow(
    actions: Sequence[str],
    resources: Sequence[str],
    conditions: Mapping[str, Mapping[str, object]] | None = None,
) -> iam.PolicyStatement:
    """Leave to do these actions on these resources."""
    return iam.PolicyStatement(actions=list(actions), resources=list(resources), conditions=conditions or {})


class Permissions:
    """The statements of a lab's functions, by what they are for."""

    def __init__(self, lab: Lab, names: Names) -> None:
        self._names = names
        self.nodegroup_names = [lab.nodegroup_name(pool) for pool in lab.pools]
        self.nodegroups = [names.nodegroup_arn(name) for name in self.nodegroup_names]

    def reading_the_ledger(self) -> iam.PolicyStatement:
        return allow(LEDGER_READS, [self._names.ledger_arn])

    def keeping_the_ledger(self) -> iam.PolicyStatement:
        return allow([*LEDGER_READS, *LEDGER_WRITES], [self._names.ledger_arn])

    def keeping_schedules(self, *roles: str) -> list[iam.PolicyStatement]:
        """Schedules of the lab's group, acting with one of these roles and no other."""
        return [
            allow(
                [f"scheduler:{verb}Schedule" for verb in ("Create", "Delete", "Get", "Update")],
                [self._names.schedules_arn],
            ),
            # ListSchedules knows no resource.
            allow(["scheduler:ListSchedules"], ["*"]),
            allow(
                ["iam:PassRole"],
                [self._names.role_arn(role) for role in roles],
                {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}},
            ),
        ]

    def seeing_capacity(self) -> list[iam.PolicyStatement]:
        """Node groups, the Auto Scaling groups behind them, and instances."""
        return [
            allow(["eks:DescribeNodegroup"], self.nodegroups),
            # EC2 and Auto Scaling know no resource for reading.
            allow(SEEING_CAPACITY, ["*"]),
        ]

    def sizing_by_eks(self) -> list[iam.PolicyStatement]:
        return [
            allow(["eks:UpdateNodegroupConfig"], self.nodegroups),
            allow(["eks:DescribeUpdate"], [self._names.cluster_arn, *self.nodegroups]),
        ]

    def sizing_by_group(self, *actions: str) -> iam.PolicyStatement:
        """On the Auto Scaling groups of the pools only: named by EKS's prefix, and by EKS's own tags."""
        return allow(
            [f"autoscaling:{action}" for action in actions],
            [self._names.autoscaling_groups_arn(name) for name in self.nodegroup_names],
            {
                "StringEquals": {
                    "autoscaling:ResourceTag/eks:cluster-name": self._names.cluster,
                    "autoscaling:ResourceTag/eks:nodegroup-name": self.nodegroup_names,
                }
            },
        )

    def ending_strays(self) -> iam.PolicyStatement:
        """Instances with a pool's tags that no group holds any more."""
        return allow(
            ["ec2:TerminateInstances"],
            [self._names.arn("ec2", "instance/*")],
            {
                "StringEquals": {
                    "ec2:ResourceTag/eks:cluster-name": self._names.cluster,
                    "ec2:ResourceTag/eks:nodegroup-name": self.nodegroup_names,
                }
            },
        )

    def reaching_the_cluster(self) -> iam.PolicyStatement:
        """Where its API is; what may be done there is RBAC's (data/rbac.yaml)."""
        return allow(["eks:DescribeCluster"], [self._names.cluster_arn])

    def starting(self, *workflows: str) -> iam.PolicyStatement:
        return allow(["states:StartExecution"], [self._names.workflow_arn(name) for name in workflows])

    def telling(self, *topics: str) -> iam.PolicyStatement:
        return allow(["sns:Publish"], topics)
