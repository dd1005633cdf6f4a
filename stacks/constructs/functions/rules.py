"""EventBridge rules that start functions: the guard's sweep, the planner's hour, events of Auto Scaling and a trail.

The sweep holds the laws. Events only make the guard faster, so a lost event does no harm. A failed CloseLab pages
without any function of ours.
"""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from lamplighter.lab.model import Lab
from stacks.constructs.failed_runs import page_failed_runs
from stacks.constructs.functions.functions import Function
from stacks.constructs.functions.node_pool_rules import NodePoolRules
from stacks.constructs.functions.trail_rules import GroupName, TrailRules, named_parts
from stacks.names import Names

SWEEP = Duration.minutes(5)
PLAN = Duration.hours(1)
SPOT_NOTICE = Duration.minutes(2)


class Rules(Construct):
    """Four rules, those of a trail and of NodePools. A sweep is not delivered late: the next one comes soon.

    `guard_at_once`: sweeps at once for the events of a whole account, which a lab with NodePools hears.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lab: Lab,
        names: Names,
        guard: Function,
        guard_at_once: int,
        planner: lambda_.IFunction,
        nodegroups: Sequence[str],
        groups: Sequence[GroupName],
        close_lab: sfn.IStateMachine,
        pages: sns.ITopic,
        dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        events.Rule(
            self,
            "Sweep",
            rule_name=f"{names.lab}-sweep",
            description="The guard compares leases, money and what really runs",
            schedule=events.Schedule.rate(SWEEP),
            targets=[_invoke(guard.function, dead_letters, SWEEP)],
        )
        events.Rule(
            self,
            "Plan",
            rule_name=f"{names.lab}-plan",
            description="The planner turns windows into leases-to-be and schedules",
            schedule=events.Schedule.rate(PLAN),
            targets=[_invoke(planner, dead_letters, PLAN)],
        )
        for end, part in named_parts(groups):
            events.Rule(
                self,
                f"Instances{end}",
                rule_name=f"{names.lab}-instances{end}",
                description="Auto Scaling started, failed to start or ended an instance of a pool",
                event_pattern=events.EventPattern(
                    source=["aws.autoscaling"],
                    detail={"AutoScalingGroupName": part},
                ),
                targets=[_invoke(guard.function, dead_letters, SWEEP)],
            )
        page_failed_runs(
            self,
            "ClosingFailed",
            rule_name=f"{names.lab}-closing-failed",
            description="CloseLab ended without a pool at zero and settled; failsafe and guard go on",
            machine_arn=close_lab.state_machine_arn,
            pages=pages,
            dead_letters=dead_letters,
        )
        if groups:
            TrailRules(
                self,
                "Trail",
                names=names,
                nodegroups=nodegroups,
                groups=groups,
                target=_invoke(guard.function, dead_letters, SWEEP),
            )
        if lab.spot_pools:
            # EC2's event has no tags: the guard leaves out at once what no pool has.
            events.Rule(
                self,
                "SpotTaken",
                rule_name=f"{names.lab}-spot-taken",
                description="EC2 takes a Spot Instance in two minutes, which may be a leased node",
                event_pattern=events.EventPattern(
                    source=["aws.ec2"], detail_type=["EC2 Spot Instance Interruption Warning"]
                ),
                targets=[_invoke(guard.function, dead_letters, SPOT_NOTICE)],
            )
        if lab.pools_with("node pool"):
            NodePoolRules(
                self,
                "NodePools",
                lab=lab,
                names=names,
                guard=guard,
                at_once=guard_at_once,
                dead_letters=dead_letters,
            )


def _invoke(
    function: lambda_.IFunction, dead_letters: sqs.IQueue, good_for: Duration
) -> targets.LambdaFunction:
    return targets.LambdaFunction(
        function, dead_letter_queue=dead_letters, max_event_age=good_for, retry_attempts=2
    )
