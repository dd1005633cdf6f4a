"""What pages when we ourselves fail, on metrics that AWS keeps anyway: five alarms.

Everything that fails on its way (a schedule, a rule, a sweep, a plan) ends in the one dead-letter queue,
which one alarm watches; the others notice a guard or a planner that nobody wakes or that cannot do its
work, and schedules that AWS gave up. Whether the lab keeps its laws is the guard's to say, through the same topic.
"""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

SWEEP = Duration.minutes(5)
AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
AT_MOST = cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD
NOTHING_IS_FINE = cloudwatch.TreatMissingData.NOT_BREACHING
# What never runs has no data either.
NOTHING_IS_WRONG = cloudwatch.TreatMissingData.BREACHING


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
        schedule_group: str,
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
        self._heard(
            "GuardFailing",
            "guard-failing",
            f"The guard of {lab} has failed for 15 minutes on end: it is woken and cannot do its work",
            guard.metric_errors(period=SWEEP, statistic="Sum"),
            periods=3,
        )
        self._silent(
            "PlannerSilent",
            "planner-silent",
            f"The planner of {lab} has not run for 3 hours: windows of the next day may not open",
            planner.metric_invocations(period=Duration.hours(3), statistic="Sum"),
        )
        self._heard(
            "DeadLetters",
            "dead-letters",
            (
                f"Something of {lab} failed for good: a schedule, perhaps the failsafe, a sweep or a plan;"
                f" the queue {lab}-dead-letters says what"
            ),
            dead_letters.metric_approximate_number_of_messages_visible(period=SWEEP, statistic="Maximum"),
        )
        self._heard(
            "SchedulesDropped",
            "schedules-dropped",
            f"AWS gave up a schedule of {lab} after its last try: a window, a warning, the failsafe or the curfew",
            cloudwatch.Metric(
                namespace="AWS/Scheduler",
                metric_name="InvocationDroppedCount",
                dimensions_map={"ScheduleGroup": schedule_group},
                period=SWEEP,
                statistic="Sum",
            ),
        )

    def _silent(self, construct_id: str, name: str, when: str, metric: cloudwatch.IMetric) -> None:
        """Pages when a metric stays at nothing."""
        alarm = cloudwatch.Alarm(
            self,
            construct_id,
            alarm_name=f"{self._lab}-{name}",
            alarm_description=when,
            metric=metric,
            threshold=0,
            comparison_operator=AT_MOST,
            evaluation_periods=1,
            treat_missing_data=NOTHING_IS_WRONG,
        )
        alarm.add_alarm_action(actions.SnsAction(self._pages))

    def _heard(
        self, construct_id: str, name: str, when: str, metric: cloudwatch.IMetric, *, periods: int = 1
    ) -> None:
        """Pages when a metric shows something, in so many periods on end."""
        alarm = cloudwatch.Alarm(
            self,
            construct_id,
            alarm_name=f"{self._lab}-{name}",
            alarm_description=when,
            metric=metric,
            threshold=1,
            comparison_operator=AT_LEAST,
            evaluation_periods=periods,
            treat_missing_data=NOTHING_IS_FINE,
        )
        alarm.add_alarm_action(actions.SnsAction(self._pages))
