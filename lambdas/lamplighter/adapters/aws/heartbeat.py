"""A sign of life on a topic of its own: CloudWatch counts what a topic is given, and pages when nothing comes.

The count is one of SNS's own metrics; one that we put ourselves would cost more than the alarm on it
(https://docs.aws.amazon.com/sns/latest/dg/sns-monitoring-using-cloudwatch.html, NumberOfMessagesPublished).
"""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient


class Heartbeat:
    """`topic` is an ARN."""

    def __init__(self, topic: str, sns: "SNSClient | None" = None) -> None:
        self._topic = topic
        self._sns: SNSClient = sns or client("sns")

    def beat(self, said: str) -> None:
        """Say so once more."""
        with outside("sns:Publish", self._topic):
            self._sns.publish(TopicArn=self._topic, Message=said)
