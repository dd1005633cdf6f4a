"""A heartbeat on an SNS topic of its own: CloudWatch counts the messages, and an alarm pages if none comes.

The count is one of SNS's own metrics; one that we put ourselves would cost more than the alarm on it
(https://docs.aws.amazon.com/sns/latest/dg/sns-monitoring-using-cloudwatch.html, NumberOfMessagesPublished).
"""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient


@border
class Heartbeat:
    """`topic` is an ARN."""

    def __init__(self, topic: str, sns: "SNSClient | None" = None) -> None:
        self._topic = topic
        self._sns: SNSClient = sns or client("sns")

    def beat(self, said: str) -> None:
        """Publishes one heartbeat."""
        with outside("sns:Publish", self._topic):
            self._sns.publish(TopicArn=self._topic, Message=said)
