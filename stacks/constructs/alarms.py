"""What pages when we ourselves fail, on metrics that AWS keeps anyway: three alarms.

Everything that fails on its way (a schedule, a rule, a sweep, a plan) ends in the one dead-letter queue,
which one alarm watches; the others notice a guard and a planner that nobody wakes. Whether the lab keeps
its laws is the guard's to say, through the same topic.
"""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct


class Alarms(Construct):
    """The alarms of one lab."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lab: str,
        guard: lambda_.IFunction,
        planner: lambda_.IFunction,
        dead_letters: sqs.IQueue,
        pages: sns.ITopic,
    ) -> None:
        super().__init__(scope, construct_id)
        self._lab, self._pages = lab, pages
        self._silent(
            "GuardSilent",
            "guard-silent",
            f"The guard of {lab} has not swept for 15 minutes",
            guard.metric_invocations(period=Duration.minutes(15), statistic="Sum"),
        )
        self._silent(
            "PlannerSilent",
            "planner-silent",
            f"The planner of {lab} has not run for 3 hours: windows of the next day may not open",
            planner.metric_invocations(period=Duration.hours(3), statistic="Sum"),
        )
        undelivered = cloudwatch.Alarm(
            self,
            "DeadLetters",
            alarm_name=f"{lab}-dead-letters",
            alarm_description=(
                f"Something of {lab} failed for good: a schedule, perhaps the failsafe, a sweep or a plan;"
                f" the queue {lab}-dead-letters says what"
            ),
            metric=dead_letters.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(5), statistic="Maximum"
            ),
            threshold=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        undelivered.add_alarm_action(actions.SnsAction(pages))

    def _silent(self, construct_id: str, name: str, when: str, metric: cloudwatch.IMetric) -> None:
        """Pages when a metric stays at nothing."""
        alarm = cloudwatch.Alarm(
            self,
            construct_id,
            alarm_name=f"{self._lab}-{name}",
            alarm_description=when,
            metric=metric,
            threshold=0,
            comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=1,
            # What never runs has no data either.
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self._pages))
