"""Alarms that page when Lamplighter itself fails, on metrics that AWS keeps anyway. Each costs 0.10 USD a month.

A failed failsafe has a queue and an alarm, so that its page needs none of our functions. The other alarm fires when no
sweep ends well, for any reason. The guard pages about broken laws, through the same topic, and about a failed schedule,
rule, plan or notice, which ends in the dead-letter queue: a sweep that cannot read this queue has not ended well.

Other failures end in one of these pages, so they have no alarm of their own: a throttled function's sweep is missing,
its event or its record of the stream is a dead letter within 15 minutes, and a failed or timed-out run has a rule or
the guard. Only a queue from which nobody takes forgets its messages without a dead letter:
`observability.queue_alarms`.
"""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

_DELAYED = 20
"""Minutes that the alarm evaluates: a queue without traffic for months reports its first message up to 15 minutes
late, and an alarm with a shorter range never sees it
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/monitoring-using-cloudwatch.html,
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html)."""

WAITED = Duration.minutes(5)
"""How old a message may grow: somebody waits for its answer."""


class Alarms(Construct):
    """The alarms of one lab; `guard_silent` must be created after a first sweep, else it pages at once."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lab: str,
        swept: sns.ITopic,
        failsafe_failed: sqs.IQueue,
        pages: sns.ITopic,
    ) -> None:
        super().__init__(scope, construct_id)
        self.guard_silent = cloudwatch.Alarm(
            self,
            "GuardSilent",
            alarm_name=f"{lab}-guard-silent",
            alarm_description=(
                f"For 15 minutes no sweep of the guard of {lab} has ended well: every pool judged, all done that was"
                " to be done, and the planner heard of within 3 hours"
            ),
            # The function's invocations would count failed sweeps too. Many short periods, because with a long one
            # CloudWatch keeps evaluating the last period that had data (`_DELAYED`).
            metric=swept.metric_number_of_messages_published(period=Duration.minutes(1), statistic="Sum"),
            threshold=0,
            comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=15,
            datapoints_to_alarm=15,
            # Without a successful sweep there is no data.
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
        )
        self.guard_silent.add_alarm_action(actions.SnsAction(pages))
        failed = cloudwatch.Alarm(
            self,
            "FailsafeFailed",
            alarm_name=f"{lab}-failsafe-failed",
            alarm_description=(
                f"A failsafe or a curfew of {lab} could not bring a pool to zero, after all of its tries;"
                f" the queue {lab}-failsafe-failed says which"
            ),
            # It counts new messages at once; messages that are already in the queue do not count again.
            metric=failsafe_failed.metric_number_of_messages_sent(
                period=Duration.minutes(1), statistic="Sum"
            ),
            threshold=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=_DELAYED,
            datapoints_to_alarm=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        failed.add_alarm_action(actions.SnsAction(pages))


def waiting_alarm(
    scope: Construct, *, what: str, queue: sqs.IQueue, name: str, taker: str, pages: sns.ITopic
) -> None:
    """The alarm on a queue whose function `taker` takes nothing: it is throttled, or its mapping is switched off."""
    alarm = cloudwatch.Alarm(
        scope,
        "Waiting",
        alarm_name=name,
        alarm_description=(
            f"{what} has waited for {WAITED.to_minutes():g} minutes in the queue {name}: the function {taker} takes"
            " none, or fails on it"
        ),
        metric=queue.metric_approximate_age_of_oldest_message(
            period=Duration.minutes(1), statistic="Maximum"
        ),
        threshold=WAITED.to_seconds(),
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        evaluation_periods=1,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
    alarm.add_alarm_action(actions.SnsAction(pages))
