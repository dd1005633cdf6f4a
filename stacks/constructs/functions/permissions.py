"""What each function and role may do, and on what: every resource is named where AWS allows a name.

A resource with a `*` in it carries the reason, which is also what the checks are told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import aws_iam as iam
from constructs import Construct

from lamplighter.adapters.doctor import bootstrap
from lamplighter.data.instance_types import QUOTA_CODES
from lamplighter.data.quotas import CONCURRENCY
from lamplighter.lab.model import Lab
from stacks.constructs.functions.accepted import accept_wildcard
from stacks.names import Names

LEDGER_READS = ("dynamodb:GetItem", "dynamodb:Query")
STREAM_READS = ("dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator")
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
        self._adopted = lab.cluster.existing is not None
        self.nodegroup_names = [lab.nodegroup_name(pool) for pool in lab.pools]
        self._group_names = [
            lab.pools[pool].auto_scaling_group or f"{lab.group_prefix(pool)}*" for pool in lab.pools
        ]
        self._nodegroups = [names.nodegroup_arn(name) for name in self.nodegroup_names]

    def reading_system_nodes(self) -> Leave:
        """What the node group of the system nodes is."""
        system = self._names.nodegroup_arn(self._names.system_nodegroup)
        wide = "An ARN of a node group ends in an id that EKS gives; cluster and group are named."
        return Leave(["eks:DescribeNodegroup"], [system], wide=wide)

    def on_nodegroups(self, *actions: str) -> Leave:
        """On the pools' own node groups."""
        return Leave(
            [f"eks:{action}" for action in actions],
            self._nodegroups,
            wide="An ARN of a node group ends in an id that EKS gives; cluster and group are named.",
        )

    def on_groups(self, *actions: str) -> Leave:
        """On the Auto Scaling groups of the pools: by their names or EKS's prefix for them, and by its tags."""
        return Leave(
            [f"autoscaling:{action}" for action in actions],
            [self._names.autoscaling_group_arn(name) for name in self._group_names],
            {
                "StringEquals": {
                    "autoscaling:ResourceTag/eks:cluster-name": self._names.cluster,
                    "autoscaling:ResourceTag/eks:nodegroup-name": self.nodegroup_names,
                }
            },
            wide="An ARN of a group has an id of its own; the condition on EKS's tags names the pool.",
        )

    def reading_the_ledger(self) -> Leave:
        return Leave(LEDGER_READS, [self._names.ledger_arn])

    def keeping_the_ledger(self) -> Leave:
        return Leave([*LEDGER_READS, *LEDGER_WRITES], [self._names.ledger_arn])

    def keeping_rows(self, *also: str) -> Leave:
        """Many items in one write: what was said of each node, and those of the partitions `also`."""
        return Leave(
            ["dynamodb:BatchWriteItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["ROWS#*", *also]}},
        )

    def marking_deploys(self) -> Leave:
        """The marks of deploys that are about to write a node group, and nothing else of the ledger."""
        return Leave(
            ["dynamodb:DeleteItem", "dynamodb:PutItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["DEPLOY#*"]}},
        )

    def keeping_loans(self) -> Leave:
        """What leases changed of the cluster's settings and what stood there before, and nothing else."""
        return Leave(
            ["dynamodb:PutItem", "dynamodb:UpdateItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["LOAN"]}},
        )

    def keeping_progress(self) -> Leave:
        """How far warm-ups have come, and nothing else."""
        return Leave(
            ["dynamodb:UpdateItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["PROGRESS#*"]}},
        )

    def keeping_the_conversation(self) -> Leave:
        """What the lab remembers of its conversation in Slack, and nothing else."""
        return Leave(
            LEDGER_WRITES,
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["SLACK", "SLACK#*"]}},
        )

    def listening(self, stream_arn: str) -> list[Leave]:
        """Being told of the ledger's changes, and leaving in the queue what could not be dealt with."""
        return [
            Leave(STREAM_READS, [stream_arn]),
            Leave(["dynamodb:ListStreams"], ["*"], wide="Listing streams takes no resource."),
            Leave(["sqs:SendMessage"], [self._names.dead_letters_arn]),
        ]

    def reading_secret(self, arn: str) -> Leave:
        """One secret; of one of ours the ARN ends in six characters that nobody knows before."""
        return Leave(["secretsmanager:GetSecretValue"], [arn])

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

    def bounding(self) -> list[Leave]:
        """Reading the pools' node groups, and writing their bounds through EKS alone."""
        return [
            self.on_nodegroups("DescribeNodegroup", "DescribeUpdate", "UpdateNodegroupConfig"),
            Leave(["eks:DescribeUpdate"], [self._names.cluster_arn]),
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

    def seeing_groups(self) -> Leave:
        """Which instances are members of the pools' groups."""
        return Leave(
            ["autoscaling:DescribeAutoScalingGroups"],
            ["*"],
            wide="Auto Scaling takes no resource for reading.",
        )

    def seeing_runs(self, *workflows: str) -> Leave:
        """How runs of these workflows ended."""
        return Leave(
            ["states:DescribeExecution"],
            [self._names.arn("states", f"execution:{self._names.workflow(name)}:*") for name in workflows],
            wide="Runs are named by the command that started them; the workflow is named.",
        )

    def counting_events(self, *workflows: str) -> Leave:
        """How long the histories of runs of these workflows are."""
        return Leave(
            ["states:GetExecutionHistory"],
            [self._names.arn("states", f"execution:{self._names.workflow(name)}:*") for name in workflows],
            wide="Runs are named by the command that started them; the workflow is named.",
        )

    def diagnosing(self) -> list[Leave]:
        """What a snapshot is made of: node groups, launches, instances, their networks, and the vCPU quota."""
        return [
            self.on_nodegroups("DescribeNodegroup"),
            Leave(
                [
                    "autoscaling:DescribeScalingActivities",
                    "ec2:DescribeInstances",
                    "ec2:DescribeSecurityGroups",
                    "ec2:DescribeSubnets",
                ],
                ["*"],
                wide="EC2 and Auto Scaling take no resource for reading.",
            ),
            Leave(
                ["servicequotas:GetServiceQuota"],
                [self._names.arn("servicequotas", f"ec2/{code}") for code in QUOTA_CODES.values()],
            ),
        ]

    def examining(self, slack_secret: str | None = None) -> list[Leave]:
        """What the doctor asks of AWS; that the Slack secret is filled in only its value shows."""
        codes = [*(f"ec2/{code}" for code in QUOTA_CODES.values()), f"lambda/{CONCURRENCY}"]
        quotas = [self._names.arn("servicequotas", code) for code in codes]
        leaves = [
            Leave(["ssm:GetParameter"], [self._names.arn("ssm", f"parameter{bootstrap.VERSION}")]),
            Leave(["servicequotas:GetServiceQuota"], quotas),
            self.reaching_the_cluster(),
            self.on_nodegroups("DescribeNodegroup"),
            Leave(
                [
                    "autoscaling:DescribeAutoScalingGroups",
                    "ec2:DescribeInstanceTypeOfferings",
                    "ec2:DescribeLaunchTemplateVersions",
                    "ec2:DescribeSubnets",
                ],
                ["*"],
                wide="EC2 and Auto Scaling take no resource for reading.",
            ),
            Leave(
                ["cloudtrail:DescribeTrails", "cloudtrail:GetEventSelectors", "cloudtrail:GetTrailStatus"],
                ["*"],
                wide="Which trails there are is what is asked; one may be in another region or account.",
            ),
            self.reading_claims(),
        ]
        if slack_secret is not None:
            leaves.append(Leave(["secretsmanager:GetSecretValue"], [slack_secret]))
        return leaves

    def keeping_the_labs_trail(self) -> Leave:
        """Audit entries about the whole lab, which stand in its own partition."""
        return Leave(
            ["dynamodb:PutItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["LAB"]}},
        )

    def seeing_rules(self) -> list[Leave]:
        """Which rules the security groups have."""
        return [
            Leave(
                ["ec2:DescribeSecurityGroupRules", "ec2:DescribeSecurityGroups"],
                ["*"],
                wide="EC2 takes no resource for reading.",
            )
        ]

    def changing_rules(self, *actions: str) -> list[Leave]:
        """Taking and giving back rules of the two groups of the lab's nodes; none of a cluster that is not ours."""
        if self._adopted:
            return []
        return [
            Leave(
                [f"ec2:{action}" for action in actions],
                [self._names.arn("ec2", "security-group/*")],
                {
                    "StringEquals": {
                        "ec2:ResourceTag/lamplighter:lab": self._names.lab,
                        "ec2:ResourceTag/Name": list(self._names.node_security_groups),
                    }
                },
                wide="EC2 gives the ids of groups; the condition on the stack's tags names the two.",
            )
        ]

    def reading_claims(self) -> Leave:
        """Which lab guards the pools' node groups."""
        return Leave(["ssm:GetParameters"], [self._names.claim_arn(name) for name in self.nodegroup_names])

    def starting(self, *workflows: str) -> Leave:
        return Leave(["states:StartExecution"], [self._names.workflow_arn(name) for name in workflows])

    def invoking(self, *functions: str) -> Leave:
        return Leave(["lambda:InvokeFunction"], [self._names.function_arn(name) for name in functions])
