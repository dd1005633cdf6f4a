"""The IAM permissions of each function and role. Each resource is named if AWS allows a name.

A resource with a `*` has a reason, which cdk-nag's finding is accepted with.
"""

from aws_cdk import Aws

from lamplighter.adapters.aws.capacity.instances import AUTO_SCALING_GROUP
from lamplighter.adapters.doctor import bootstrap
from lamplighter.adapters.doctor.spot_role import SPOT_ROLE
from lamplighter.data.instance_types import DISK_QUOTA, QUOTA_CODES, SPOT_QUOTA_CODES
from lamplighter.data.lambda_concurrency import CONCURRENCY
from lamplighter.domain.capacity.kinds import identity, needs_karpenter
from lamplighter.domain.capacity.node_pool.off_switch import MACHINE
from lamplighter.domain.capacity.node_pool.roles import adopted_locks, launching_role_path
from lamplighter.domain.events.lab_event import source
from lamplighter.domain.guard.node_pools.outside_instance import OWNED, OWNED_TAG, owns_the_cluster
from lamplighter.domain.schedules.drift import KEPT
from lamplighter.domain.schedules.schedule import LOOK
from lamplighter.lab.model import Lab
from lamplighter.values.lab_tag import LAB_TAG
from stacks.constructs.capacity.kinds import rights
from stacks.constructs.grants import Grants
from stacks.names import SCHEDULES, WINDOWS, Names

LEDGER_READS = ("dynamodb:GetItem", "dynamodb:Query")
STREAM_READS = ("dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator")
LEDGER_WRITES = (
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
)
SCHEDULE_WRITES = ("scheduler:CreateSchedule", "scheduler:DeleteSchedule", "scheduler:UpdateSchedule")


def on_pages(bucket_arn: str, *actions: str) -> Grants:
    """Permission for these actions on the pages, not on the bucket's settings."""
    return Grants(
        [f"s3:{action}" for action in actions],
        [f"{bucket_arn}/*"],
        wide="The pages in the lab's own bucket; each receipt has one.",
    )


def _role_arn(path: str) -> str:
    return f"arn:{Aws.PARTITION}:iam::{Aws.ACCOUNT_ID}:role/{path}"


class Permissions:
    """The IAM statements of a lab's functions, by their purpose."""

    def __init__(self, lab: Lab, names: Names) -> None:
        self._lab, self._names = lab, names
        self._adopted = lab.cluster.existing is not None
        self.nodegroup_names = [lab.nodegroup_name(pool) for pool in lab.pools_with("group")]
        self._claimed = [identity(lab, pool).name for pool in lab.pools]
        self._always_on = [
            names.system_nodegroup,
            *(lab.always_on_name(group) for group in lab.cluster.node_groups),
        ]
        self.capacity = rights(lab, names)
        """The statements about pools, by their kind of capacity."""

    def reading_node_groups(self) -> Grants:
        """Reading the node groups that are no pools: the system nodes and those that are always on."""
        groups = [self._names.nodegroup_arn(name) for name in self._always_on]
        wide = "An ARN of a node group ends in an id that EKS gives; cluster and group are named."
        return Grants(["eks:DescribeNodegroup"], groups, wide=wide)

    def reading_the_ledger(self) -> Grants:
        return Grants(LEDGER_READS, [self._names.ledger_arn])

    def keeping_the_ledger(self) -> Grants:
        return Grants([*LEDGER_READS, *LEDGER_WRITES], [self._names.ledger_arn])

    def keeping_rows(self, *also: str) -> Grants:
        """Batch writes: the results of each node, and items of the partitions `also`."""
        return Grants(
            ["dynamodb:BatchWriteItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["ROWS#*", *also]}},
        )

    def marking_deploys(self) -> Grants:
        """Writing the marks of deploys that are about to change a node group; no other items of the ledger."""
        return Grants(
            ["dynamodb:DeleteItem", "dynamodb:PutItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["DEPLOY#*"]}},
        )

    def keeping_lives(self) -> Grants:
        """Batch writes of when nodes ran: of NodePools, and of any pool where a node has another type than the pool."""
        return Grants(
            ["dynamodb:BatchWriteItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["POOL#*"]}},
        )

    def keeping_loans(self) -> Grants:
        """Writing what leases changed in the cluster's settings and their earlier values; no other items."""
        return Grants(
            ["dynamodb:PutItem", "dynamodb:UpdateItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["LOAN"]}},
        )

    def keeping_progress(self) -> Grants:
        """Writing the progress of warm-ups; no other items."""
        return Grants(
            ["dynamodb:UpdateItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["PROGRESS#*"]}},
        )

    def keeping_the_conversation(self) -> Grants:
        """Writing the items of the conversation in Slack; no other items."""
        return Grants(
            LEDGER_WRITES,
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["SLACK", "SLACK#*"]}},
        )

    def keeping_events(self) -> Grants:
        """Writing which requests of the bus wait, and how far the lab has told its events; no other items."""
        return Grants(
            ["dynamodb:DeleteItem", "dynamodb:PutItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["EVENT#*"]}},
        )

    @staticmethod
    def receiving(queue_arn: str) -> Grants:
        """Taking messages from a queue, by a mapping."""
        return Grants(["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"], [queue_arn])

    def telling(self) -> Grants:
        """Putting the lab's own events on its bus; no events of others."""
        return Grants(
            ["events:PutEvents"],
            [self._names.event_bus_arn],
            {
                "ForAllValues:StringEquals": {"events:source": source(self._names.lab)},
                "Null": {"events:source": "false"},
            },
        )

    def listening(self, stream_arn: str, dead_letters_arn: str | None = None) -> list[Grants]:
        """Reading the ledger's stream, and sending failed records to a dead-letter queue, by default the lab's."""
        return [
            Grants(STREAM_READS, [stream_arn]),
            Grants(["dynamodb:ListStreams"], ["*"], wide="Listing streams takes no resource."),
            Grants(["sqs:SendMessage"], [dead_letters_arn or self._names.dead_letters_arn]),
        ]

    def reading_secret(self, arn: str) -> Grants:
        """Reading one secret; the ARN of a secret that we create ends in six random characters."""
        return Grants(["secretsmanager:GetSecretValue"], [arn])

    def reading_calendars(self) -> list[Grants]:
        """Reading the secrets of the addresses that windows follow, each by its own ARN."""
        named = {window.calendar_secret for window in self._lab.windows}
        return [self.reading_secret(arn) for arn in sorted(filter(None, named))]

    def keeping_schedules(self, *roles: str) -> list[Grants]:
        """Managing schedules of the lab's group: those of these roles, which alone they may have."""
        prefixes = [prefix for role in roles for prefix in SCHEDULES[role]]
        if WINDOWS in roles and self._lab.guard.look_again:
            prefixes.append(LOOK)
        return [
            Grants(
                [*SCHEDULE_WRITES, "scheduler:GetSchedule"],
                [self._names.schedules_arn(prefix) for prefix in prefixes],
                wide="Schedules of one kind in the lab's own group; they change every hour.",
            ),
            Grants(["scheduler:ListSchedules"], ["*"], wide="Listing schedules takes no resource."),
            Grants(
                ["iam:PassRole"],
                [self._names.role_arn(role) for role in roles],
                {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}},
            ),
        ]

    def switching_the_curfew(self) -> Grants:
        """Enabling and disabling the schedules of a curfew, as the mode of its pool asks."""
        return Grants(
            ["scheduler:GetSchedule", "scheduler:UpdateSchedule"],
            [self._names.schedules_arn("curfew-")],
            wide="A pool's curfew has a schedule for each of its calls.",
        )

    def tidying_schedules(self) -> list[Grants]:
        """Reading and deleting what nobody of the lab has put into its group; the failsafe's and others' stay."""
        return [
            Grants(
                ["scheduler:DeleteSchedule", "scheduler:GetSchedule"],
                [self._names.schedules_arn()],
                wide="A schedule that somebody put into the lab's own group may have any name.",
            ),
            Grants(
                SCHEDULE_WRITES,
                [self._names.schedules_arn(prefix) for prefix in KEPT],
                wide="A prohibition: schedules of these kinds belong to other functions, and to CloudFormation.",
                denied=True,
            ),
        ]

    def reading_templates(self) -> Grants:
        """Reading the launch template of an adopted node group, which may name the instance type."""
        return Grants(
            ["ec2:DescribeLaunchTemplateVersions"], ["*"], wide="EC2 takes no resource for reading."
        )

    def reading_zones(self) -> Grants:
        """Reading which zones the account has, before a cluster is put into some."""
        return Grants(["ec2:DescribeAvailabilityZones"], ["*"], wide="EC2 takes no resource for reading.")

    def seeing_reservations(self, *also: str) -> list[Grants]:
        """Reading the reservations that pools are bought from; nothing where none is."""
        if not any(pool.reservation for pool in self._lab.pools.values()):
            return []
        actions = [f"ec2:{action}" for action in ("DescribeCapacityReservations", *also)]
        return [Grants(actions, ["*"], wide="EC2 takes no resource for reading.")]

    def removing_logs(self, group: str) -> list[Grants]:
        """Removing a log group that EKS left."""
        return [
            Grants(["logs:DescribeLogGroups"], ["*"], wide="CloudWatch Logs takes no resource for listing."),
            Grants(
                ["logs:DeleteLogGroup"],
                [self._names.arn("logs", f"log-group:{group}:*")],
                wide="So IAM names one log group.",
            ),
        ]

    def reading_prices(self) -> Grants:
        """Reading the price of a node from AWS's price list."""
        return Grants(["pricing:GetProducts"], ["*"], wide="The price list takes no resource.")

    def reading_spot_prices(self) -> list[Grants]:
        """Reading what Spot nodes cost; nothing in a lab without them."""
        wide = "EC2 takes no resource for reading."
        return [Grants(["ec2:DescribeSpotPriceHistory"], ["*"], wide=wide)] if self._lab.spot_pools else []

    def replacing_spot_nodes(self) -> list[Grants]:
        """Reading which Spot nodes EC2 takes, and starting the proof of others; nothing in a lab without them."""
        if not self._lab.spot_pools:
            return []
        wide = "EC2 takes no resource for reading."
        return [Grants(["ec2:DescribeSpotInstanceRequests"], ["*"], wide=wide), self.starting("open")]

    def reaching_the_cluster(self) -> Grants:
        """Reading the address of the cluster's API; RBAC says what a function may do there (data/rbac.yaml)."""
        return Grants(["eks:DescribeCluster"], [self._names.cluster_arn])

    def seeing_groups(self) -> list[Grants]:
        """Reading which instances are members of the pools' groups; nothing where no pool has a group."""
        if not self.nodegroup_names:
            return []
        return [
            Grants(
                ["autoscaling:DescribeAutoScalingGroups"],
                ["*"],
                wide="Auto Scaling takes no resource for reading.",
            )
        ]

    def seeing_runs(self, *workflows: str) -> Grants:
        """Reading how runs of these workflows ended."""
        return Grants(
            ["states:DescribeExecution"],
            [self._names.arn("states", f"execution:{self._names.workflow(name)}:*") for name in workflows],
            wide="Runs are named by the command that started them; the workflow is named.",
        )

    def seeing_the_failsafe(self) -> list[Grants]:
        """Reading which runs of the failsafe's machine go on; nothing without NodePools."""
        if not self._lab.pools_with("failsafe machine"):
            return []
        listing = Grants(["states:ListExecutions"], [self._names.workflow_arn(MACHINE)])
        return [listing, self.seeing_runs(MACHINE)]

    def counting_events(self, *workflows: str) -> Grants:
        """Reading how many events the runs of these workflows have."""
        return Grants(
            ["states:GetExecutionHistory"],
            [self._names.arn("states", f"execution:{self._names.workflow(name)}:*") for name in workflows],
            wide="Runs are named by the command that started them; the workflow is named.",
        )

    def diagnosing(self) -> list[Grants]:
        """Reading the parts of a snapshot: node groups, launches, instances, their networks and the vCPU quota."""
        return [
            *self.capacity.describing(),
            *self.seeing_locks(),
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
                [self._names.arn("servicequotas", f"ec2/{code}") for code in self._vcpu_quotas()],
            ),
        ]

    def _vcpu_quotas(self) -> list[str]:
        """The codes of the quotas that the lab's nodes count against."""
        return [*QUOTA_CODES.values(), *(SPOT_QUOTA_CODES.values() if self._lab.spot_pools else ())]

    def seeing_locks(self, *also: str) -> list[Grants]:
        """Reading the names of the policies on the roles that launch NodePools' instances: one may be a lock."""
        named = {launching_role_path(self._lab, pool) for pool in self._lab.pools_with("launch bar")}
        arns = [_role_arn(role) for role in sorted(role for role in named if role)]
        return [Grants(["iam:ListRolePolicies", *also], arns)] if arns else []

    def seeing_the_queue(self) -> list[Grants]:
        """Whether the queue exists from which Karpenter reads interruptions; nothing where no pool needs Karpenter."""
        if not needs_karpenter(self._lab):
            return []
        theirs = self._lab.cluster.karpenter is None or self._lab.cluster.karpenter.existing
        return [
            Grants(
                ["sqs:GetQueueUrl"],
                [self._names.arn("sqs", "*" if theirs else self._names.karpenter_queue)],
                wide="An existing Karpenter reads a queue of any name." if theirs else "",
            )
        ]

    def hearing_of_instances(self) -> list[Grants]:
        """Taking EC2's events from their queue; a lab without NodePools has none."""
        return [self.receiving(self._names.arn("sqs", self._names.instance_events))] * bool(
            self._lab.pools_with("node pool")
        )

    def examining_node_pools(self) -> list[Grants]:
        """The doctor's calls about NodePools; none for a lab without them."""
        if not self._lab.pools_with("node pool"):
            return []
        entries = f"access-entry/{self._names.cluster}/role/*"
        return [
            *self.seeing_locks("iam:ListAttachedRolePolicies"),
            *self._seeing_the_spot_role(),
            *self.seeing_the_queue(),
            Grants(
                ["eks:DescribeAccessEntry"],
                [self._names.arn("eks", entries)],
                wide="An ARN of an access entry ends in an id that EKS gives; the cluster is named.",
            ),
        ]

    @staticmethod
    def _seeing_the_spot_role() -> list[Grants]:
        # Of a role that does not exist IAM knows no path.
        names = (f"aws-service-role/spot.amazonaws.com/{SPOT_ROLE}", SPOT_ROLE)
        return [Grants(["iam:GetRole"], [_role_arn(name) for name in names])]

    def examining(self, slack_secret: str | None = None) -> list[Grants]:
        """The doctor's calls. Only the value of the Slack secret shows whether it is filled in."""
        codes = [
            *(f"ec2/{code}" for code in self._vcpu_quotas()),
            f"ebs/{DISK_QUOTA}",
            f"lambda/{CONCURRENCY}",
        ]
        quotas = [self._names.arn("servicequotas", code) for code in codes]
        leaves = [
            Grants(["ssm:GetParameter"], [self._names.arn("ssm", f"parameter{bootstrap.VERSION}")]),
            Grants(["servicequotas:GetServiceQuota"], quotas),
            Grants(["freetier:GetAccountPlanState"], ["*"], wide="An account has one plan."),
            *(
                self._seeing_the_spot_role()
                if self._lab.spot_pools and not self._lab.pools_with("node pool")
                else []
            ),
            self.reaching_the_cluster(),
            *self.capacity.describing(),
            Grants(
                [
                    "autoscaling:DescribeAutoScalingGroups",
                    "autoscaling:DescribeScheduledActions",
                    "ec2:DescribeInstanceTypeOfferings",
                    "ec2:DescribeLaunchTemplateVersions",
                    "ec2:DescribeSubnets",
                ],
                ["*"],
                wide="EC2 and Auto Scaling take no resource for reading.",
            ),
            Grants(["eks:DescribeClusterVersions"], ["*"], wide="EKS takes no resource for its versions."),
            Grants(
                ["cloudtrail:DescribeTrails", "cloudtrail:GetEventSelectors", "cloudtrail:GetTrailStatus"],
                ["*"],
                wide="The doctor lists the trails; a trail may be in another region or account.",
            ),
            self.reading_claims(),
            *self.seeing_reservations("DescribeCapacityBlockStatus"),
            *self.examining_node_pools(),
        ]
        if slack_secret is not None:
            leaves.append(Grants(["secretsmanager:GetSecretValue"], [slack_secret]))
        return leaves

    def looking_again(self) -> list[Grants]:
        """What the doctor reads more before a window: who else has instances, and the cluster's access entries."""
        return [
            Grants(["ec2:DescribeInstances"], ["*"], wide="EC2 takes no resource for reading."),
            Grants(["eks:ListAccessEntries"], [self._names.cluster_arn]),
        ]

    def keeping_the_labs_trail(self) -> Grants:
        """Writing audit entries about the whole lab, which are in the lab's own partition."""
        return Grants(
            ["dynamodb:PutItem"],
            [self._names.ledger_arn],
            {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["LAB"]}},
        )

    def seeing_rules(self) -> list[Grants]:
        """Reading the rules of the security groups."""
        return [
            Grants(
                ["ec2:DescribeSecurityGroupRules", "ec2:DescribeSecurityGroups"],
                ["*"],
                wide="EC2 takes no resource for reading.",
            )
        ]

    def changing_rules(self, *actions: str) -> list[Grants]:
        """Removing and restoring rules of the two security groups of the lab's nodes; nothing in an adopted cluster."""
        if self._adopted:
            return []
        return [
            Grants(
                [f"ec2:{action}" for action in actions],
                [self._names.arn("ec2", "security-group/*")],
                {
                    "StringEquals": {
                        f"ec2:ResourceTag/{LAB_TAG}": self._names.lab,
                        "ec2:ResourceTag/Name": list(self._names.node_security_groups),
                    }
                },
                wide="EC2 generates the ids of groups; the condition on the stack's tags names the two groups.",
            )
        ]

    def reading_claims(self) -> Grants:
        """Reading which lab guards the pools' capacity."""
        return Grants(["ssm:GetParameters"], [self._names.claim_arn(name) for name in self._claimed])

    def taking_locks_off(self) -> list[Grants]:
        """At a destroy: removing the failsafe's lock from the roles of existing controllers."""
        roles = dict.fromkeys(adopted_locks(self._lab).values())
        arns = [self._names.any_role_arn(role) for role in roles]
        return [Grants(["iam:DeleteRolePolicy"], arns)] if arns else []

    def ending_outside(self) -> list[Grants]:
        """Reading which lab guards a NodePool outside this lab's pools, and ending its GPU instances in EC2.

        Only in the lab's own cluster, and no instance of an Auto Scaling group, so none of its system nodes.
        """
        if not self._lab.pools_with("node pool"):
            return []
        reading = Grants(
            ["ssm:GetParameters"],
            [self._names.claim_arn("*")],
            wide="Another NodePool of the cluster may have any name; the cluster is named.",
        )
        if not owns_the_cluster(self._lab):
            return [reading]
        owned = OWNED_TAG.format(cluster=self._names.cluster)
        ending = Grants(
            ["ec2:TerminateInstances"],
            [self._names.arn("ec2", "instance/*")],
            {
                "StringEquals": {f"ec2:ResourceTag/{owned}": OWNED},
                "StringLike": {"ec2:InstanceType": ["g*", "p*"]},
                "Null": {f"ec2:ResourceTag/{AUTO_SCALING_GROUP}": "true"},
            },
            wide="Instances come and go; the conditions name the cluster's tag, EC2's GPU families and no group.",
        )
        return [reading, ending]

    def starting(self, *workflows: str) -> Grants:
        return Grants(["states:StartExecution"], [self._names.workflow_arn(name) for name in workflows])

    def invoking(self, *functions: str) -> Grants:
        return Grants(["lambda:InvokeFunction"], [self._names.function_arn(name) for name in functions])
