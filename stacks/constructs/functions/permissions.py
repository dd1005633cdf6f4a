"""What each function and role may do, and on what: every resource is named where AWS allows a name.

A resource with a `*` in it carries the reason, which is also what the checks are told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import aws_iam as iam
from constructs import Construct

from lamplighter.adapters.doctor import bootstrap
from lamplighter.data.instance_types import QUOTA_CODES
from lamplighter.data.lambda_concurrency import CONCURRENCY
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
class Grants:
    """Leave to do these actions on these resources; `wide` says why a resource has a `*` in it."""

    actions: Sequence[str]
    resources: Sequence[str]
    conditions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    wide: str = ""


def give(scope: Construct, construct_id: str, role: iam.IRole, leaves: Iterable[Grants]) -> iam.Policy:
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

    def reading_system_nodes(self) -> Grants:
        """What the node group of the system nodes is."""
        system = self._names.nodegroup_arn(self._names.system_nodegroup)
        wide = "An ARN of a node group ends in an id that EKS gives; cluster and group are named."
        return Grants(["eks:DescribeNodegroup"], [system], wide=wide)

    def on_nodegroups(self, *actions: str) -> Grants:
        """On the pools' own node groups."""
        return Grants(
            [f"eks:{action}" for action in actions],
            self._nodegroups,
            wide="An ARN of a node group ends in an id that EKS gives; cluster and group are named.",
        )

    def on_groups(self, *actions: str) -> Grants:
        """On the Auto Scaling groups of the pools: by their names or EKS's prefix for them, and by its tags."""
        return Grants(
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

    def reading_the_ledger(self) -> Grants:
        return Grants(LEDGER_READS, [self._names.ledger_arn])

    def keeping_the_ledger(self) -> Grants:
        return Grants([*LEDGER_READS, *LEDGER_WRITES], [self._names.ledger_arn])

    def keeping_rows(self, *also: str) -> Grants:
        """Many items in one write: what was said of each node, and those of the partitions `also`."""
        return Grants(
            ["dynamodb:BatchWriteItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["ROWS#*", *also]}},
        )

    def marking_deploys(self) -> Grants:
        """The marks of deploys that are about to write a node group, and nothing else of the ledger."""
        return Grants(
            ["dynamodb:DeleteItem", "dynamodb:PutItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["DEPLOY#*"]}},
        )

    def keeping_loans(self) -> Grants:
        """What leases changed of the cluster's settings and what stood there before, and nothing else."""
        return Grants(
            ["dynamodb:PutItem", "dynamodb:UpdateItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["LOAN"]}},
        )

    def keeping_progress(self) -> Grants:
        """How far warm-ups have come, and nothing else."""
        return Grants(
            ["dynamodb:UpdateItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["PROGRESS#*"]}},
        )

    def keeping_the_conversation(self) -> Grants:
        """What the lab remembers of its conversation in Slack, and nothing else."""
        return Grants(
            LEDGER_WRITES,
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["SLACK", "SLACK#*"]}},
        )

    def listening(self, stream_arn: str) -> list[Grants]:
        """Being told of the ledger's changes, and leaving in the queue what could not be dealt with."""
        return [
            Grants(STREAM_READS, [stream_arn]),
            Grants(["dynamodb:ListStreams"], ["*"], wide="Listing streams takes no resource."),
            Grants(["sqs:SendMessage"], [self._names.dead_letters_arn]),
        ]

    def reading_secret(self, arn: str) -> Grants:
        """One secret; of one of ours the ARN ends in six characters that nobody knows before."""
        return Grants(["secretsmanager:GetSecretValue"], [arn])

    def keeping_schedules(self, *roles: str) -> list[Grants]:
        """Schedules of the lab's group, acting with one of these roles and no other."""
        return [
            Grants(
                [f"scheduler:{verb}Schedule" for verb in ("Create", "Delete", "Get", "Update")],
                [self._names.schedules_arn],
                wide="The schedules of the lab's own group; which ones there are changes by the hour.",
            ),
            Grants(["scheduler:ListSchedules"], ["*"], wide="Listing schedules takes no resource."),
            Grants(
                ["iam:PassRole"],
                [self._names.role_arn(role) for role in roles],
                {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}},
            ),
        ]

    def seeing_capacity(self) -> list[Grants]:
        """Node groups, the Auto Scaling groups behind them, and instances."""
        return [
            self.on_nodegroups("DescribeNodegroup", "DescribeUpdate", "ListUpdates"),
            Grants(["eks:DescribeUpdate", "eks:ListUpdates"], [self._names.cluster_arn]),
            Grants(SEEING_CAPACITY, ["*"], wide="EC2 and Auto Scaling take no resource for reading."),
        ]

    def reading_templates(self) -> Grants:
        """The launch template of an adopted node group, where that names the instance type."""
        return Grants(
            ["ec2:DescribeLaunchTemplateVersions"], ["*"], wide="EC2 takes no resource for reading."
        )

    def reading_prices(self) -> Grants:
        """What a node costs, from AWS's price list."""
        return Grants(["pricing:GetProducts"], ["*"], wide="The price list takes no resource.")

    def sizing(self) -> list[Grants]:
        """Writing a size through EKS, and through the group itself where EKS is stuck."""
        return [
            self.on_nodegroups("UpdateNodegroupConfig", "DescribeUpdate", "ListUpdates"),
            Grants(["eks:DescribeUpdate", "eks:ListUpdates"], [self._names.cluster_arn]),
            self.on_groups(
                "CompleteLifecycleAction", "TerminateInstanceInAutoScalingGroup", "UpdateAutoScalingGroup"
            ),
        ]

    def bounding(self) -> list[Grants]:
        """Reading the pools' node groups, and writing their bounds through EKS alone."""
        return [
            self.on_nodegroups("DescribeNodegroup", "DescribeUpdate", "UpdateNodegroupConfig"),
            Grants(["eks:DescribeUpdate"], [self._names.cluster_arn]),
        ]

    def ending_strays(self) -> Grants:
        """Instances with a pool's tags that no group holds any more."""
        return Grants(
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

    def reaching_the_cluster(self) -> Grants:
        """Where its API is; what may be done there is RBAC's (data/rbac.yaml)."""
        return Grants(["eks:DescribeCluster"], [self._names.cluster_arn])

    def seeing_groups(self) -> Grants:
        """Which instances are members of the pools' groups."""
        return Grants(
            ["autoscaling:DescribeAutoScalingGroups"],
            ["*"],
            wide="Auto Scaling takes no resource for reading.",
        )

    def seeing_runs(self, *workflows: str) -> Grants:
        """How runs of these workflows ended."""
        return Grants(
            ["states:DescribeExecution"],
            [self._names.arn("states", f"execution:{self._names.workflow(name)}:*") for name in workflows],
            wide="Runs are named by the command that started them; the workflow is named.",
        )

    def counting_events(self, *workflows: str) -> Grants:
        """How long the histories of runs of these workflows are."""
        return Grants(
            ["states:GetExecutionHistory"],
            [self._names.arn("states", f"execution:{self._names.workflow(name)}:*") for name in workflows],
            wide="Runs are named by the command that started them; the workflow is named.",
        )

    def diagnosing(self) -> list[Grants]:
        """What a snapshot is made of: node groups, launches, instances, their networks, and the vCPU quota."""
        return [
            self.on_nodegroups("DescribeNodegroup"),
            Grants(
                [
                    "autoscaling:DescribeScalingActivities",
                    "ec2:DescribeInstances",
                    "ec2:DescribeSecurityGroups",
                    "ec2:DescribeSubnets",
                ],
                ["*"],
                wide="EC2 and Auto Scaling take no resource for reading.",
            ),
            Grants(
                ["servicequotas:GetServiceQuota"],
                [self._names.arn("servicequotas", f"ec2/{code}") for code in QUOTA_CODES.values()],
            ),
        ]

    def examining(self, slack_secret: str | None = None) -> list[Grants]:
        """What the doctor asks of AWS; that the Slack secret is filled in only its value shows."""
        codes = [*(f"ec2/{code}" for code in QUOTA_CODES.values()), f"lambda/{CONCURRENCY}"]
        quotas = [self._names.arn("servicequotas", code) for code in codes]
        leaves = [
            Grants(["ssm:GetParameter"], [self._names.arn("ssm", f"parameter{bootstrap.VERSION}")]),
            Grants(["servicequotas:GetServiceQuota"], quotas),
            self.reaching_the_cluster(),
            self.on_nodegroups("DescribeNodegroup"),
            Grants(
                [
                    "autoscaling:DescribeAutoScalingGroups",
                    "ec2:DescribeInstanceTypeOfferings",
                    "ec2:DescribeLaunchTemplateVersions",
                    "ec2:DescribeSubnets",
                ],
                ["*"],
                wide="EC2 and Auto Scaling take no resource for reading.",
            ),
            Grants(
                ["cloudtrail:DescribeTrails", "cloudtrail:GetEventSelectors", "cloudtrail:GetTrailStatus"],
                ["*"],
                wide="Which trails there are is what is asked; one may be in another region or account.",
            ),
            self.reading_claims(),
        ]
        if slack_secret is not None:
            leaves.append(Grants(["secretsmanager:GetSecretValue"], [slack_secret]))
        return leaves

    def keeping_the_labs_trail(self) -> Grants:
        """Audit entries about the whole lab, which stand in its own partition."""
        return Grants(
            ["dynamodb:PutItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["LAB"]}},
        )

    def seeing_rules(self) -> list[Grants]:
        """Which rules the security groups have."""
        return [
            Grants(
                ["ec2:DescribeSecurityGroupRules", "ec2:DescribeSecurityGroups"],
                ["*"],
                wide="EC2 takes no resource for reading.",
            )
        ]

    def changing_rules(self, *actions: str) -> list[Grants]:
        """Taking and giving back rules of the two groups of the lab's nodes; none of a cluster that is not ours."""
        if self._adopted:
            return []
        return [
            Grants(
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

    def reading_claims(self) -> Grants:
        """Which lab guards the pools' node groups."""
        return Grants(["ssm:GetParameters"], [self._names.claim_arn(name) for name in self.nodegroup_names])

    def starting(self, *workflows: str) -> Grants:
        return Grants(["states:StartExecution"], [self._names.workflow_arn(name) for name in workflows])

    def invoking(self, *functions: str) -> Grants:
        return Grants(["lambda:InvokeFunction"], [self._names.function_arn(name) for name in functions])
