"""Reads CloudWatch metrics: whether messages of a topic are counted."""

from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

MINUTE_SECONDS = 60


@border
class Metrics:
    """The metrics of the account and region."""

    def __init__(self, cloudwatch: "CloudWatchClient | None" = None) -> None:
        self._cloudwatch: CloudWatchClient = cloudwatch or client("cloudwatch")

    def has_counted(self, topic: str, since: datetime, until: datetime) -> bool:
        """Whether CloudWatch shows a message to the topic, an ARN, in that time."""
        name = topic.rpartition(":")[2]
        with outside("cloudwatch:GetMetricStatistics", name):
            found = self._cloudwatch.get_metric_statistics(
                Namespace="AWS/SNS",
                MetricName="NumberOfMessagesPublished",
                Dimensions=[{"Name": "TopicName", "Value": name}],
                StartTime=since,
                EndTime=until,
                Period=MINUTE_SECONDS,
                Statistics=["Sum"],
            )
        return any(point.get("Sum", 0) > 0 for point in found["Datapoints"])
