"""CloudWatch's counts of Lambda functions: each invocation that ran, and each that was throttled.

Lambda counts an invocation when it has ended, by the minute in which it began
(https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html). moto keeps the counts and answers.
"""

from datetime import UTC, datetime

from moto.cloudwatch.models import cloudwatch_backends

from local.aws.api.service_context import ServiceContext
from local.aws.timers import Timers

NAMESPACE, INVOCATIONS, THROTTLES = "AWS/Lambda", "Invocations", "Throttles"
#: Lambda sends its counts every minute. CloudWatch shows them some time later; AWS does not publish how much later.
LATE_SECONDS = 120.0


class FunctionMetrics:
    """The counts of one embedded AWS."""

    def __init__(self, service_context: ServiceContext, timers: Timers) -> None:
        self._context, self._timers = service_context, timers

    def count(self, function: str, metric: str, began: float) -> None:
        """One more, which CloudWatch shows later."""
        # moto's times have no zone.
        minute = datetime.fromtimestamp(began // 60 * 60, UTC).replace(tzinfo=None)
        dimension = {"Name": "FunctionName", "Value": function}
        datum = {"MetricName": metric, "Dimensions": [dimension], "Value": 1, "Timestamp": minute}
        backend = cloudwatch_backends[self._context.account_id][self._context.region]
        self._timers.after(LATE_SECONDS, lambda: backend.put_metric_data(NAMESPACE, [datum]))
