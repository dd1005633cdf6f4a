"""The lab's EventBridge bus and its policy, and the queue to which its one rule delivers requests.

The queue bounds how many requests are handled at once: a flood of them waits, and starves no other function of the
account. Delivered by a rule alone, Lambda would start as many as there are.
"""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lamplighter.domain.events.bus_policy import statements
from lamplighter.domain.events.request import VERBS
from lamplighter.lab.model import Lab
from stacks.constructs.accepted import accept
from stacks.names import Names

TRIED = Duration.hours(1)
"""A request is good for 15 minutes, and who comes later is told so."""
KEPT = Duration.days(1)
VISIBLE_AFTER = Duration.minutes(3)
"""Six times the function's time-out, as Lambda asks
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html)."""
TRIES = 5
REDRIVES = "lamplighter:redrive"
"""The tag of a role or user that may send to the queue besides the rule; its value is the lab."""


class EventBus(Construct):
    """The bus, its policy, the rule for requests, their queue, and a queue for what failed for good."""

    def __init__(self, scope: Construct, construct_id: str, *, lab: Lab, names: Names) -> None:
        super().__init__(scope, construct_id)
        self.bus = events.CfnEventBus(
            self,
            "Bus",
            name=names.event_bus,
            description=f"GPU lab {lab.name}: requests, and what the lab tells",
        )
        self.dead_letters = self._queue("DeadLetters", names.events_dead_letters, Duration.days(14))
        self.requests = self._queue(
            "Requests",
            names.event_requests,
            KEPT,
            visibility_timeout=VISIBLE_AFTER,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=TRIES),
        )
        accept(self.dead_letters, "SQS3", "It is the dead-letter queue itself, of the lab's bus.")
        self._policies = self._policy(lab, names)
        if lab.events is not None and lab.events.allow:
            self._rule(lab, names)

    def _queue(self, construct_id: str, name: str, kept: Duration, **given: object) -> sqs.Queue:
        return sqs.Queue(
            self,
            construct_id,
            queue_name=name,
            enforce_ssl=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            retention_period=kept,
            **given,  # type: ignore[arg-type]
        )

    def _policy(self, lab: Lab, names: Names) -> list[events.CfnEventBusPolicy]:
        """One statement after the other: EventBridge refuses changes of one policy at the same time."""
        tellers = [names.role_arn(name) for name in ("events", "lifecycle")]
        made: list[events.CfnEventBusPolicy] = []
        for statement in statements(lab, names.event_bus_arn, tellers):
            policy = events.CfnEventBusPolicy(
                self,
                statement["Sid"],
                statement_id=statement["Sid"],
                event_bus_name=self.bus.ref,
                statement=dict(statement),
            )
            if made:
                policy.add_resource_dependency(made[-1])
            made.append(policy)
        return made

    def _rule(self, lab: Lab, names: Names) -> None:
        allowed = lab.events.allow.values() if lab.events else ()
        rule = events.Rule(
            self,
            "Rule",
            rule_name=f"{names.lab}-requests",
            description="Requests of those whom the bus's policy lets in",
            event_bus=events.EventBus.from_event_bus_name(self, "Named", self.bus.ref),
            event_pattern=events.EventPattern(
                source=[entry.source for entry in allowed], detail_type=[verb.value for verb in VERBS]
            ),
            targets=[
                targets.SqsQueue(
                    self.requests, dead_letter_queue=self.dead_letters, max_event_age=TRIED, retry_attempts=20
                )
            ],
        )
        # In its own account a principal needs no word of the queue, and would speak with any source.
        self.requests.add_to_resource_policy(
            iam.PolicyStatement(
                sid="OnlyTheRule",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["sqs:SendMessage"],
                resources=[self.requests.queue_arn],
                conditions={
                    "ArnNotEquals": {"aws:SourceArn": rule.rule_arn},
                    # SQS redrives dead letters as its caller: a principal with this tag may.
                    "StringNotEquals": {f"aws:PrincipalTag/{REDRIVES}": names.lab},
                },
            )
        )
        rule.node.add_dependency(*self._policies)
