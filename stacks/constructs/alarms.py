"""What pages when we ourselves fail: five alarms, all on metrics that AWS keeps anyway.

Whether the lab keeps its laws is the guard's to say, through the same topic.
"""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

MISSING_IS_FINE = cloudwatch.TreatMissingData.NOT_BREACHING
MISSING_IS_A_BREACH = cloudwatch.TreatMissingData.BREACHING


class Alarms(Construct):
    """The alarms of one lab, named after it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lab: str,
        guard: lambda_.IFunction,
        planner: lambda_.IFunction,
        close_lab: sfn.IStateMachine,
        dead_letters: sqs.IQueue,
        pages: sns.ITopic,
    ) -> None:
        super().__init__(scope, construct_id)
        quarter, two_hours = Duration.minutes(15), Duration.hours(2)
        self._alarm(
            "GuardSilent",
            f"{lab}: the guard has not swept for 15 minutes",
            guard.metric_invocations(period=quarter, statistic="Sum"),
            pages,
            at_most=0,
            missing=MISSING_IS_A_BREACH,
        )
        self._alarm(
            "GuardFails",
            f"{lab}: the guard's sweeps fail",
            guard.metric_errors(period=quarter, statistic="Sum"),
            pages,
            at_least=2,
        )
        self._alarm(
            "PlannerFails",
            f"{lab}: the planner fails, windows may not open",
            planner.metric_errors(period=two_hours, statistic="Sum"),
            pages,
            at_least=2,
        )
        self._alarm(
            "ClosingFails",
            f"{lab}: a pool's closing failed; the failsafe and the guard still close it",
            close_lab.metric_failed(period=Duration.minutes(5), statistic="Sum"),
            pages,
            at_least=1,
        )
        self._alarm(
            "DeadLetters",
            f"{lab}: a schedule or a rule could not be delivered, perhaps the failsafe",
            dead_letters.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(5), statistic="Maximum"
            ),
            pages,
            at_least=1,
        )

    def _alarm(
        self,
        construct_id: str,
        description: str,
        metric: cloudwatch.IMetric,
        pages: sns.ITopic,
        *,
        at_least: int | None = None,
        at_most: int | None = None,
        missing: cloudwatch.TreatMissingData = MISSING_IS_FINE,
    ) -> None:
        operators = cloudwatch.ComparisonOperator
        alarm = cloudwatch.Alarm(
            self,
            construct_id,
            alarm_description=description,
            metric=metric,
            threshold=at_least if at_least is not None else at_most or 0,
            comparison_operator=(
                operators.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
                if at_least is not None
                else operators.LESS_THAN_OR_EQUAL_TO_THRESHOLD
            ),
            evaluation_periods=1,
            treat_missing_data=missing,
        )
        alarm.add_alarm_action(actions.SnsAction(pages))
