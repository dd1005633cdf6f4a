"""The queue from which Karpenter hears that EC2 stops, ends or takes back an instance, and the rules that fill it.

Without the queue Karpenter notices an ended instance minutes later (https://karpenter.sh/v1.14/concepts/disruption/).
"""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.constructs.accepted import accept
from stacks.names import Names

RULES = {
    "health": ("aws.health", "AWS Health Event"),
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "states": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reserved": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
KEPT = Duration.minutes(5)
"""An older message says nothing about an instance of now."""


class Interruption(Construct):
    """`queue` is `<lab>-karpenter`."""

    def __init__(self, scope: Construct, construct_id: str, *, names: Names) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=names.karpenter_queue,
            retention_period=KEPT,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )
        accept(self.queue, "SQS3", "A message that Karpenter cannot read is of no use to anybody later.")
        for name, (source, kind) in RULES.items():
            events.Rule(
                self,
                name.capitalize(),
                rule_name=f"{names.karpenter_queue}-{name}",
                description=f"Tells Karpenter: {kind}",
                event_pattern=events.EventPattern(source=[source], detail_type=[kind]),
                targets=[targets.SqsQueue(self.queue)],
            )
