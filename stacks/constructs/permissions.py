"""What each function and role may do, and on what: every resource is named where AWS allows a name.

A resource with a `*` in it carries the reason, which is also what the checks are told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import aws_iam as iam
from constructs import Construct

from lamplighter.lab import Lab
from stacks.constructs.accepted import accept_wildcard
from stacks.names import Names

LEDGER_READS = ("dynamodb:GetItem", "dynamodb:Query")
LEDGER_WRITES = (
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
)
SEEING_CAPACITY = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeLifecycleHooks",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplateVersions",
)


@dataclass(frozen=True)
class Leave:
    """Leave to do these actions on these resources; `wide` says why a resource has a `*` in it."""

    actions: Sequence[str]
    resources: Sequence[str]
    conditions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    wide: str = ""


def give(scope: Construct, construct_id: str, role: iam.IRole, leaves: Iterable[Leave]) -> iam.Policy:
    """Give a role these leaves, as one inline policy."""
    leaves = list(leaves)
    policy = iam.Policy(
        scope,
        construct_id,
        roles=[role],
        statements=[
            iam.PolicyStatement(
                actions=list(leave.actions),
                resources=list(leave.resources),
                conditions=dict(leave.conditions),
            )
            for leave in leaves
        ],
    )
    for leave in leaves:
        for resource in leave.resources:
            if "*" in resource:
                accept_wildcard(policy, resource, leave.wide)
    return policy


class Permissions:
    """The leaves of a lab's functions, by what they are for."""

    def __init__(self, lab: Lab, names: Names) -> None:
        self._names = names
        self.nodegroup_names = [lab.nodegroup_name(pool) for pool in lab.pools]
        self._nodegroups = [names.nodegroup_arn(name) for name in self.nodegroup_names]

    def on_nodegroups(self, *actions: str) -> Leave:
        """On the pools' own node groups."""
        return Leave(
            [f"eks:{action}" for action in actions],
            self._nodegroups,
            wide="An ARN of a node group ends in an id that EKS gives; cluster and group are named.",
        )

    def on_groups(self, *actions: str) -> Leave:
        """On the Auto Scaling groups of the pools: by EKS's prefix for their names, and by its tags."""
        return Leave(
            [f"autoscaling:{action}" for action in actions],
            [self._names.autoscaling_groups_arn(name) for name in self.nodegroup_names],
            {
                "StringEquals": {
                    "autoscaling:ResourceTag/eks:cluster-name": self._names.cluster,
                    "autoscaling:ResourceTag/eks:nodegroup-name": self.nodegroup_names,
                }
            },
            wide="EKS names the group with an id of its own; the condition on its tags names the pool.",
        )

    def reading_the_ledger(self) -> Leave:
        return Leave(LEDGER_READS, [self._names.ledger_arn])

    def keeping_the_ledger(self) -> Leave:
        return Leave([*LEDGER_READS, *LEDGER_WRITES], [self._names.ledger_arn])

    def keeping_schedules(self, *roles: str) -> list[Leave]:
        """Schedules of the lab's group, acting with one of these roles and no other."""
        return [
            Leave(
                [f"scheduler:{verb}Schedule" for verb in ("Create", "Delete", "Get", "Update")],
                [self._names.schedules_arn],
                wide="The schedules of the lab's own group; which ones there are changes by the hour.",
            ),
            Leave(["scheduler:ListSchedules"], ["*"], wide="Listing schedules takes no resource."),
            Leave(
                ["iam:PassRole"],
                [self._names.role_arn(role) for role in roles],
                {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}},
            ),
        ]

    def seeing_capacity(self) -> list[Leave]:
        """Node groups, the Auto Scaling groups behind them, and instances."""
        return [
            self.on_nodegroups("DescribeNodegroup", "DescribeUpdate", "ListUpdates"),
            Leave(["eks:DescribeUpdate", "eks:ListUpdates"], [self._names.cluster_arn]),
            Leave(SEEING_CAPACITY, ["*"], wide="EC2 and Auto Scaling take no resource for reading."),
        ]

    def reading_templates(self) -> Leave:
        """The launch template of an adopted node group, where that names the instance type."""
        return Leave(["ec2:DescribeLaunchTemplateVersions"], ["*"], wide="EC2 takes no resource for reading.")

    def reading_prices(self) -> Leave:
        """What a node costs, from AWS's price list."""
        return Leave(["pricing:GetProducts"], ["*"], wide="The price list takes no resource.")

    def sizing(self) -> list[Leave]:
        """Writing a size through EKS, and through the group itself where EKS is stuck."""
        return [
            self.on_nodegroups("UpdateNodegroupConfig", "DescribeUpdate", "ListUpdates"),
            Leave(["eks:DescribeUpdate", "eks:ListUpdates"], [self._names.cluster_arn]),
            self.on_groups(
                "CompleteLifecycleAction", "TerminateInstanceInAutoScalingGroup", "UpdateAutoScalingGroup"
            ),
        ]

    def ending_strays(self) -> Leave:
        """Instances with a pool's tags that no group holds any more."""
        return Leave(
            ["ec2:TerminateInstances"],
            [self._names.arn("ec2", "instance/*")],
            {
                "StringEquals": {
                    "ec2:ResourceTag/eks:cluster-name": self._names.cluster,
                    "ec2:ResourceTag/eks:nodegroup-name": self.nodegroup_names,
                }
            },
            wide="Instances come and go; the condition on EKS's tags names the pool they belong to.",
        )

    def reaching_the_cluster(self) -> Leave:
        """Where its API is; what may be done there is RBAC's (data/rbac.yaml)."""
        return Leave(["eks:DescribeCluster"], [self._names.cluster_arn])

    def seeing_runs(self, *workflows: str) -> Leave:
        """How runs of these workflows ended."""
        return Leave(
            ["states:DescribeExecution"],
            [self._names.arn("states", f"execution:{self._names.workflow(name)}:*") for name in workflows],
            wide="Runs are named by the command that started them; the workflow is named.",
        )

    def reading_claims(self) -> Leave:
        """Which lab guards the pools' node groups."""
        return Leave(["ssm:GetParameters"], [self._names.claim_arn(name) for name in self.nodegroup_names])

    def starting(self, *workflows: str) -> Leave:
        return Leave(["states:StartExecution"], [self._names.workflow_arn(name) for name in workflows])

    def invoking(self, *functions: str) -> Leave:
        return Leave(["lambda:InvokeFunction"], [self._names.function_arn(name) for name in functions])
