"""What pages when we ourselves fail, on metrics that AWS keeps anyway: two alarms.

Everything that fails on its way (a schedule, a rule, a sweep, a plan) ends in the one dead-letter queue,
so one alarm watches them all; the other notices a guard that nobody wakes. Whether the lab keeps its laws
is the guard's to say, through the same topic.
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
        dead_letters: sqs.IQueue,
        pages: sns.ITopic,
    ) -> None:
        super().__init__(scope, construct_id)
        silent = cloudwatch.Alarm(
            self,
            "GuardSilent",
            alarm_name=f"{lab}-guard-silent",
            alarm_description=f"The guard of {lab} has not swept for 15 minutes",
            metric=guard.metric_invocations(period=Duration.minutes(15), statistic="Sum"),
            threshold=0,
            comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=1,
            # A guard that never runs has no data either.
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
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
        for alarm in (silent, undelivered):
            alarm.add_alarm_action(actions.SnsAction(pages))
