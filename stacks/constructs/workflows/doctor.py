"""The doctor's monthly run: a function examines the lab and sends its findings as a notice. It changes nothing.

Schedules of the planner start the same function to check a window again before it opens.

The checks are in lamplighter/domain/doctor.
"""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from lamplighter.lab.model import Lab
from stacks.constructs.channels import Channels
from stacks.constructs.functions.functions import Function, FunctionCode
from stacks.constructs.functions.permissions import Permissions
from stacks.constructs.grants import Grants
from stacks.names import Names

VISIT = Duration.days(30)
# The next run comes after a month: a run that is a day late is better than none.
GOOD_FOR = Duration.hours(6)


class Doctor(Construct):
    """`function` is `<lab>-doctor`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lab: Lab,
        names: Names,
        code: FunctionCode,
        permissions: Permissions,
        channels: Channels,
    ) -> None:
        super().__init__(scope, construct_id)
        environment = {
            "NOTICES_TOPIC_ARN": channels.notices.topic_arn,
            "NOTICES_FUNCTION_ARN": names.function_arn("notices"),
        }
        secret = None
        if lab.slack is not None:
            environment["SLACK_SECRET_ARN"] = lab.slack.secret_arn or names.slack_secret_arn
            secret = lab.slack.secret_arn or f"{names.slack_secret_arn}-??????"
        self.function = Function(
            self,
            "Function",
            name="doctor",
            handler="doctor",
            names=names,
            code=code,
            environment=environment,
            permissions=[
                permissions.reading_the_ledger(),
                permissions.keeping_the_labs_trail(),
                *permissions.examining(secret),
                *(permissions.looking_again() if lab.guard.look_again else []),
                Grants(["sns:Publish"], [channels.notices.topic_arn]),
                permissions.invoking("notices"),
            ],
            description="Doctor: looks the lab over every month and says what it found",
            memory_mib=512,
            timeout=Duration.minutes(2),
            dead_letters=channels.dead_letters,
            events_good_for=GOOD_FOR,
        )
        events.Rule(
            self,
            "Visit",
            rule_name=f"{names.lab}-doctor",
            description="The doctor looks the lab over",
            schedule=events.Schedule.rate(VISIT),
            targets=[
                targets.LambdaFunction(
                    self.function.function,
                    dead_letter_queue=channels.dead_letters,
                    max_event_age=GOOD_FOR,
                    retry_attempts=2,
                )
            ],
        )
