"""The functions of a lab. Each function groups the steps that need the same permissions.

Each has only the environment variables and permissions that it needs. Its code is in lambdas/handlers, under the
name of its handler.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lamplighter.domain.capacity.node_pool.off_switch import MACHINE
from stacks.constructs.channels import Channels
from stacks.constructs.functions.functions import Function, FunctionCode
from stacks.constructs.functions.permissions import Permissions, on_pages
from stacks.constructs.grants import Grants
from stacks.names import FAILSAFE, RESTORES, WINDOWS, Names

# Chosen by measured cost and time: docs/reference/performance.md, "Memory". A person, or a node that costs money,
# waits for functions that open and close; nobody waits for the others.
WAITED_FOR = 1024
IN_THE_BACKGROUND = 512


class LabFunctions(Construct):
    """The functions of a lab, each an attribute."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        code: FunctionCode,
        permissions: Permissions,
        channels: Channels,
        pages: s3.IBucket,
        failsafe_machine: bool = False,
        falls_back: bool = False,
        looks_again: bool = False,
    ) -> None:
        """`failsafe_machine`: the lab has the state machine that is the failsafe of NodePools.

        `falls_back`: a pool of the lab has a fallback. `looks_again`: its windows are checked again before they open.
        """
        super().__init__(scope, construct_id)
        self._names = names
        self._code = code
        notices = {"NOTICES_TOPIC_ARN": channels.notices.topic_arn}
        telling = Grants(["sns:Publish"], [channels.notices.topic_arn])
        paging = Grants(["sns:Publish"], [channels.pages.topic_arn])
        doors = {
            "OPEN_LAB_ARN": names.workflow_arn("open"),
            "CLOSE_LAB_ARN": names.workflow_arn("close"),
            "NOTICES_FUNCTION_ARN": names.function_arn("notices"),
        }
        if looks_again:
            doors["DOCTOR_FUNCTION_ARN"] = names.function_arn("doctor")
        schedules = {
            "SCHEDULE_GROUP": names.schedule_group,
            "FAILSAFE_ROLE_ARN": names.role_arn(FAILSAFE),
            "FAILSAFE_DLQ_ARN": channels.failsafe_failed.queue_arn,
            "DEAD_LETTERS_ARN": channels.dead_letters.queue_arn,
            "WINDOW_ROLE_ARN": names.role_arn(WINDOWS),
        }
        if failsafe_machine:
            schedules["FAILSAFE_MACHINE_ARN"] = names.workflow_arn(MACHINE)
        p = permissions

        self.leases = self._function(
            "leases",
            "Leases: admits, extends, settles and hands over, and keeps the failsafe armed",
            {**schedules, **doors, "EXPERIMENTS_FUNCTION_ARN": names.function_arn("experiments")},
            [
                p.keeping_the_ledger(),
                p.keeping_rows(),
                *p.keeping_schedules(FAILSAFE, WINDOWS),
                *p.capacity.seeing(),
                *p.reading_spot_prices(),
                p.invoking("experiments"),
                p.starting("open", *(("close",) if falls_back else ())),
                p.counting_events("open"),
                p.seeing_runs("open"),
                *p.seeing_the_failsafe(),
            ],
            memory_mib=WAITED_FOR,
        )
        self.nodegroups = self._function(
            "nodegroups",
            "Node groups: writes the target of a pool and watches what comes of it",
            {"NOTICES_FUNCTION_ARN": names.function_arn("notices")},
            [
                p.keeping_the_ledger(),
                *p.capacity.seeing(),
                *p.capacity.sizing(),
                p.invoking("notices"),
            ],
            memory_mib=WAITED_FOR,
            # Its events start workers ahead; after a minute such an event is useless, and its failure does not matter.
            events_good_for=Duration.minutes(1),
        )
        self.cluster = self._function(
            "cluster",
            "Kubernetes: settings, readiness, GPU checks, draining",
            {},
            [
                p.reading_the_ledger(),
                p.keeping_rows(),
                p.keeping_loans(),
                p.keeping_progress(),
                p.reaching_the_cluster(),
                *p.seeing_groups(),
            ],
            memory_mib=WAITED_FOR,
            timeout=Duration.minutes(5),
            dead_letters=channels.dead_letters,
            # The next sweep of the guard repeats the request.
            events_good_for=Duration.minutes(5),
        )
        self.diagnosis = self._function(
            "diagnosis",
            "Diagnosis: reads AWS and Kubernetes and names the cause of what is late or failed",
            {},
            [p.reading_the_ledger(), p.reaching_the_cluster(), *p.diagnosing()],
            memory_mib=WAITED_FOR,
            timeout=Duration.minutes(2),
        )
        self.guard = self._function(
            "guard",
            "Guard: every 5 minutes, no lease, no GPU node; proves zero",
            {
                **schedules,
                **doors,
                **notices,
                "PAGES_TOPIC_ARN": channels.pages.topic_arn,
                "SWEPT_TOPIC_ARN": channels.swept.topic_arn,
                "DEAD_LETTERS_URL": channels.dead_letters.queue_url,
                "PLANNER_FUNCTION_ARN": names.function_arn("planner"),
                "EXPERIMENT_ARN": names.workflow_arn("experiment"),
                "CLUSTER_FUNCTION_ARN": names.function_arn("cluster"),
            },
            [
                p.keeping_the_ledger(),
                *p.keeping_schedules(FAILSAFE),
                p.switching_the_curfew(),
                *p.capacity.seeing(),
                *p.capacity.sizing(),
                *p.capacity.ending_strays(),
                p.keeping_lives(),
                *p.seeing_reservations(),
                *p.reading_spot_prices(),
                *p.replacing_spot_nodes(),
                *p.seeing_the_queue(),
                *p.hearing_of_instances(),
                *p.ending_outside(),
                p.reaching_the_cluster(),
                p.starting("close", "experiment"),
                p.invoking("planner", "cluster", "notices"),
                p.seeing_runs("open"),
                p.reading_claims(),
                paging,
                telling,
                Grants(["sns:Publish"], [channels.swept.topic_arn]),
                Grants(["sqs:GetQueueAttributes"], [channels.dead_letters.queue_arn]),
            ],
            timeout=Duration.minutes(4),
            dead_letters=channels.dead_letters,
            # The next sweep comes within five minutes.
            events_good_for=Duration.minutes(5),
        )
        self.experiments = self._function(
            "experiments",
            "Experiments: puts a fault in on purpose, sees what comes of it and puts everything back",
            {
                "SCHEDULE_GROUP": names.schedule_group,
                "RESTORE_ROLE_ARN": names.role_arn(RESTORES),
                "DEAD_LETTERS_ARN": channels.dead_letters.queue_arn,
                "EXPERIMENT_ARN": names.workflow_arn("experiment"),
                "DIAGNOSIS_FUNCTION_ARN": names.function_arn("diagnosis"),
            },
            [
                p.keeping_the_ledger(),
                *p.keeping_schedules(RESTORES),
                *p.seeing_rules(),
                *p.changing_rules("AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"),
                p.reaching_the_cluster(),
                p.invoking("diagnosis"),
            ],
            timeout=Duration.minutes(3),
        )
        self.planner = self._function(
            "planner",
            "Planner: windows into leases-to-be and schedules, 36 hours ahead",
            {**schedules, **doors, **notices, "EXTEND_LEASE_ARN": names.workflow_arn("extend")},
            [
                p.keeping_the_ledger(),
                *p.keeping_schedules(WINDOWS),
                *p.tidying_schedules(),
                # Bounds and instance type that an adopted pool leaves out are read from its node group.
                *p.capacity.describing(),
                p.reading_templates(),
                p.reading_prices(),
                *p.seeing_reservations(),
                *p.reading_calendars(),
                p.starting("open", "close", "extend"),
                p.seeing_runs("open"),
                p.invoking("notices"),
                telling,
            ],
            timeout=Duration.minutes(2),
            dead_letters=channels.dead_letters,
            # The planner runs every hour.
            events_good_for=Duration.hours(1),
        )
        self.notices = self._function(
            "notices",
            "Notices: says aloud what happens, on the lab's topic",
            {
                **notices,
                "CLUSTER_FUNCTION_ARN": names.function_arn("cluster"),
                "NOTICES_FUNCTION_ARN": names.function_arn("notices"),
            },
            # Only the cluster function sees whose pods the end of a lease stops. This function also retries messages
            # that a topic did not take, the guard's pages included.
            [
                p.keeping_the_ledger(),
                p.keeping_rows("POOL#*"),
                p.invoking("cluster", "notices"),
                telling,
                paging,
            ],
            dead_letters=channels.dead_letters,
            # A later warning would come after the end of the lease.
            events_good_for=Duration.minutes(5),
        )
        self.deploy = self._function(
            "deploy",
            "Deploy steps: plans at once, closes every pool before the controller goes",
            {
                "LAST_CLOSE_ARN": names.workflow_arn("destroy"),
                "PLANNER_FUNCTION_ARN": names.function_arn("planner"),
                "GUARD_FUNCTION_ARN": names.function_arn("guard"),
                "SWEPT_TOPIC_ARN": channels.swept.topic_arn,
            },
            [
                p.keeping_the_ledger(),
                *p.capacity.seeing(),
                *p.taking_locks_off(),
                p.starting("destroy"),
                p.invoking("guard", "planner"),
                Grants(
                    ["cloudwatch:GetMetricStatistics"],
                    ["*"],
                    wide="CloudWatch takes no resource for reading a metric.",
                ),
                # A destroy empties the bucket before its deletion.
                Grants(["s3:ListBucket"], [pages.bucket_arn]),
                on_pages(pages.bucket_arn, "DeleteObject"),
            ],
            # A first deploy waits for the first sweep.
            timeout=Duration.minutes(10),
            dead_letters=channels.dead_letters,
            # CloudFormation gives up before that.
            events_good_for=Duration.minutes(5),
        )

    def by_name(self) -> dict[str, lambda_.IFunction]:
        """The functions that the workflows' steps run in."""
        return {
            "leases": self.leases.function,
            "nodegroups": self.nodegroups.function,
            "cluster": self.cluster.function,
            "diagnosis": self.diagnosis.function,
            "experiments": self.experiments.function,
            "guard": self.guard.function,
            "planner": self.planner.function,
            "notices": self.notices.function,
        }

    def _function(
        self,
        name: str,
        description: str,
        environment: Mapping[str, str],
        leaves: Sequence[Grants],
        *,
        memory_mib: int = IN_THE_BACKGROUND,
        timeout: Duration | None = None,
        dead_letters: sqs.IQueue | None = None,
        events_good_for: Duration | None = None,
    ) -> Function:
        return Function(
            self,
            name.capitalize(),
            name=name,
            handler=name,
            names=self._names,
            code=self._code,
            environment=environment,
            permissions=leaves,
            description=description,
            memory_mib=memory_mib,
            timeout=timeout or Duration.minutes(1),
            dead_letters=dead_letters,
            events_good_for=events_good_for,
        )
