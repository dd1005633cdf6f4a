"""CloudWatch counts a function's invocations, and those that were throttled, by minutes and some time later."""

from datetime import timedelta

import pytest
from botocore.exceptions import ClientError

from tests.local.conftest import Aws

MINUTE = timedelta(minutes=1)


def counts(aws: Aws, metric: str) -> list[float]:
    """The sums of the minutes of the last hour that have a count, the oldest first."""
    now = aws.clock.now()
    answer = aws.call(
        "cloudwatch",
        "get_metric_statistics",
        Namespace="AWS/Lambda",
        MetricName=metric,
        Dimensions=[{"Name": "FunctionName", "Value": "any"}],
        StartTime=now - 60 * MINUTE,
        EndTime=now + MINUTE,
        Period=60,
        Statistics=["Sum"],
    )
    return [point["Sum"] for point in sorted(answer["Datapoints"], key=lambda point: point["Timestamp"])]


def test_invocations_and_throttles_are_counted_by_their_minutes(aws: Aws) -> None:
    aws.hold()
    aws.function("any", "def handler(event, context): ...")
    aws.function("other", "def handler(event, context): ...")
    aws.invoke("any")
    aws.invoke("any")
    aws.invoke("other")
    aws.clock.sleep(60)
    aws.invoke("any")
    assert counts(aws, "Invocations") == []

    aws.call("lambda", "put_function_concurrency", FunctionName="any", ReservedConcurrentExecutions=0)
    with pytest.raises(ClientError, match="TooManyRequests"):
        aws.invoke("any")
    aws.clock.sleep(180)

    assert counts(aws, "Invocations") == [2, 1]
    assert sum(counts(aws, "Throttles")) >= 1
