"""The queue between the rules of NodePools and the guard: one sweep for a batch of events, two sweeps at once at most.

EC2's event has no tags, so a rule hears of every instance of the account. With the guard as its target, an autoscaler
of somebody else would start hundreds of sweeps a minute, take the functions of a new account, use up EC2's calls and
page by the dead letters.
"""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.constructs.accepted import accept
from stacks.constructs.functions.functions import Function
from stacks.constructs.functions.queue_listener import listen
from stacks.constructs.rule_queues import admit_rules_together
from stacks.names import Names

WINDOW = Duration.seconds(20)
"""Lambda may wait so long for a quiet queue in any case. Its five pollers gather side by side, so that a storm starts
15 sweeps a minute at most; a node without a lease costs less than a cent in that time."""
BATCH = 1000
"""Events of half a kilobyte, with SQS's part of a message: a sixth of the 6 MB that a function takes."""
KEPT = Duration.minutes(5)
"""The sweep of the timer comes as soon, and has dead letters."""
VISIBLE_AFTER = Duration.minutes(25)
"""Six times the guard's time-out and the window, as Lambda asks
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html). A batch whose sweep failed does not come
again: it is older than `KEPT` by then."""


class InstanceEvents(Construct):
    """The queue and its mapping; rules have `target`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        guard: Function,
        at_once: int,
        dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=names.instance_events,
            enforce_ssl=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            retention_period=KEPT,
            visibility_timeout=VISIBLE_AFTER,
        )
        accept(self.queue, "SQS3", "The timer's sweep does what a failed one left, and its failures page.")
        # The dead letters are of events that the queue itself did not take.
        self.target = targets.SqsQueue(
            self.queue, dead_letter_queue=dead_letters, max_event_age=KEPT, retry_attempts=2
        )
        listen(
            self,
            "Mapping",
            queue=self.queue,
            function=guard,
            batch=BATCH,
            at_once=at_once,
            window=WINDOW,
            each_fails_alone=False,
        )

    def only(self, rules: Sequence[events.Rule]) -> None:
        """Denies everybody else to send: in its own account a principal needs no word of the queue."""
        self.queue.add_to_resource_policy(
            iam.PolicyStatement(
                sid="OnlyTheRules",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["sqs:SendMessage"],
                resources=[self.queue.queue_arn],
                conditions={"ArnNotEquals": {"aws:SourceArn": [rule.rule_arn for rule in rules]}},
            )
        )
        admit_rules_together(self.queue)
