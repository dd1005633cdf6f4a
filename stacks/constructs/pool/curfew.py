"""The curfew: recurring schedules that bring a pool to zero through AWS alone, with none of our code or data.

They are in the template, so no running code can forget to create them. Leases end at the curfew, and `check` refuses
a window across it.
"""

from datetime import timedelta

from aws_cdk import Stack
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lamplighter.domain.leases.curfew import KEPT_FREE, MINUTES_A_DAY
from lamplighter.lab.model import Lab
from stacks.constructs.functions.functions import Function
from stacks.constructs.functions.schedules import Schedules
from stacks.constructs.pool import kinds
from stacks.constructs.pool.kind import Rail
from stacks.names import Names

# A schedule fires within its minute, and one minute is a margin: the last retry comes before any lease opens.
MARGIN_MINUTES = 2
RETRY_ATTEMPTS = 20


class Curfew(Construct):
    """The schedules for each pool with a curfew; its kind of capacity says which calls they make."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lab: Lab,
        names: Names,
        schedules: Schedules,
        deploy: Function,
        dead_letters: sqs.IQueue,
        digest: str,
    ) -> None:
        super().__init__(scope, construct_id)
        self._lab, self._schedules, self._dead_letters = lab, schedules, dead_letters
        for pool in lab.pools:
            minute = lab.curfew(pool)
            if minute is None:
                continue
            for rail in kinds.rails(self, lab=lab, names=names, pool=pool, deploy=deploy, digest=digest):
                self._rail(rail, pool, minute)

    def _rail(self, rail: Rail, pool: str, minute: int) -> None:
        later = rail.later // timedelta(minutes=1)
        hour, past = divmod((minute + later) % MINUTES_A_DAY, 60)
        good_for = int(KEPT_FREE.total_seconds()) - (later + MARGIN_MINUTES) * 60
        schedule = scheduler.CfnSchedule(
            self,
            rail.name,
            name=rail.name,
            group_name=self._schedules.group.ref,
            description=f"The curfew of pool {pool}: to zero, whatever becomes of us",
            schedule_expression=f"cron({past} {hour} * * ? *)",
            schedule_expression_timezone=self._lab.time_zone,
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            # For a pool in mode watch the schedule is off until somebody arms the pool; the guard then enables it.
            state="ENABLED" if self._lab.mode(pool) == "enforce" else "DISABLED",
            target=scheduler.CfnSchedule.TargetProperty(
                arn=rail.call.target,
                role_arn=self._schedules.failsafe_role.role_arn,
                input=Stack.of(self).to_json_string(dict(rail.call.sent)),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(
                    arn=self._dead_letters.queue_arn
                ),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=good_for, maximum_retry_attempts=RETRY_ATTEMPTS
                ),
            ),
        )
        # Scheduler verifies the role and its permissions when a schedule is created.
        schedule.node.add_dependency(self._schedules)
