"""The lab's bus, the function that receives requests there, and the one that tells events.

Only a lab with an `events` key has them.
"""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from lamplighter.lab.model import Lab
from stacks.constructs.alarms import waiting_alarm
from stacks.constructs.channels import Channels
from stacks.constructs.event_bus import EventBus
from stacks.constructs.functions.functions import Function, FunctionCode
from stacks.constructs.functions.ledger_listener import LedgerListener
from stacks.constructs.functions.permissions import Permissions
from stacks.constructs.functions.queue_listener import listen
from stacks.constructs.http.throttle import EVENTS_AT_ONCE
from stacks.names import Names

MIB = 512
REQUESTS_TIMEOUT = Duration.seconds(30)
"""Longer than the calls of one request take if each is tried twice."""
LIFECYCLE_TIMEOUT = Duration.minutes(1)
BATCH = 1
"""A run that dies takes no other request with it."""
WINDOW = Duration.seconds(0)
"""Somebody waits for the answer."""
SWEEP = Duration.minutes(5)
TOLD = {"POOL#": ("AUDIT#", "COMMAND#")}
"""The items of the ledger that an event tells."""
WORKFLOWS = {"OPEN_LAB_ARN": "open", "CLOSE_LAB_ARN": "close", "EXTEND_LEASE_ARN": "extend"}


class Events(Construct):
    """The bus of one lab and its two functions."""

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
        stream_arn: str,
    ) -> None:
        super().__init__(scope, construct_id)
        self._names, self._code, self._permissions = names, code, permissions
        self._bus = EventBus(self, "EventBus", lab=lab, names=names)
        self._telling = [
            self._permissions.reading_the_ledger(),
            self._permissions.keeping_events(),
            self._permissions.telling(),
        ]
        self._receive()
        self._tell(lab, stream_arn)
        self._alarm(lab, channels)

    def _receive(self) -> None:
        """The function that receives requests."""
        queue = self._bus.requests
        function = Function(
            self,
            "Requests",
            name="events",
            handler="events",
            names=self._names,
            code=self._code,
            environment={
                "EVENT_BUS": self._names.event_bus,
                "LIFECYCLE_FUNCTION_ARN": self._names.function_arn("lifecycle"),
                **{variable: self._names.workflow_arn(name) for variable, name in WORKFLOWS.items()},
            },
            permissions=[
                *self._telling,
                self._permissions.receiving(queue.queue_arn),
                self._permissions.starting(*WORKFLOWS.values()),
                self._permissions.invoking("lifecycle"),
            ],
            description="Receives requests on the lab's bus, and starts the workflows",
            memory_mib=MIB,
            timeout=REQUESTS_TIMEOUT,
        )
        listen(
            self,
            "RequestsMapping",
            queue=queue,
            function=function,
            batch=BATCH,
            at_once=EVENTS_AT_ONCE,
        )

    def _tell(self, lab: Lab, stream_arn: str) -> None:
        """The function that tells events, woken by the ledger's stream and every five minutes."""
        dead_letters = self._bus.dead_letters
        function = Function(
            self,
            "Lifecycle",
            name="lifecycle",
            handler="lifecycle",
            names=self._names,
            code=self._code,
            environment={"EVENT_BUS": self._names.event_bus},
            permissions=[
                *self._telling,
                *self._permissions.listening(stream_arn, dead_letters.queue_arn),
            ],
            description="Tells on the lab's bus what happens to its pools",
            memory_mib=MIB,
            timeout=LIFECYCLE_TIMEOUT,
            dead_letters=dead_letters,
            events_good_for=SWEEP,
        )
        if lab.slack is None:
            LedgerListener(
                self,
                "Listener",
                function=function.function,
                stream_arn=stream_arn,
                dead_letters_arn=dead_letters.queue_arn,
                items=[TOLD],
                window=WINDOW,
            )
        events.Rule(
            self,
            "Sweep",
            rule_name=f"{self._names.lab}-tell",
            description="What was not told yet is told",
            schedule=events.Schedule.rate(SWEEP),
            targets=[
                targets.LambdaFunction(
                    function.function, dead_letter_queue=dead_letters, max_event_age=SWEEP, retry_attempts=2
                )
            ],
        )

    def _alarm(self, lab: Lab, channels: Channels) -> None:
        alarm = cloudwatch.Alarm(
            self,
            "DeadLetters",
            alarm_name=self._names.events_dead_letters,
            alarm_description=(
                f"A request on the bus of {lab.name}, or the telling of its events, failed for good;"
                f" the queue {self._names.events_dead_letters} says which"
            ),
            metric=self._bus.dead_letters.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(5), statistic="Maximum"
            ),
            threshold=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(channels.pages))
        if lab.observability.queue_alarms:
            waiting_alarm(
                self,
                what=f"A request on the bus of {lab.name}",
                queue=self._bus.requests,
                name=self._names.event_requests,
                taker=self._names.function("events"),
                pages=channels.pages,
            )
