"""What functions logged is read page by page, from the group of the function."""

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from lamplighter.adapters.aws.logs.function_logs import FunctionLogs
from lamplighter.errors import OutsideFailed

GROUP = "/aws/lambda/gpu-lab-events"


def client() -> Any:
    return boto3.client(
        "logs", region_name="ap-northeast-2", aws_access_key_id="x", aws_secret_access_key="x"
    )


def test_every_page_is_read() -> None:
    logs, at = client(), datetime(2026, 11, 20, 20, tzinfo=UTC)
    milliseconds = int(at.timestamp() * 1000)
    asked = {"logGroupName": GROUP, "startTime": milliseconds, "filterPattern": "{ $.x = 1 }"}
    with Stubber(logs) as aws:
        line = {"timestamp": milliseconds, "message": "{}", "eventId": "1"}
        aws.add_response("filter_log_events", {"events": [line], "nextToken": "more"}, asked)
        aws.add_response("filter_log_events", {"events": []}, {**asked, "nextToken": "more"})

        [read] = FunctionLogs(logs).lines("gpu-lab-events", at, "{ $.x = 1 }")

        aws.assert_no_pending_responses()
    assert (read.id, read.at, read.text) == ("1", at, "{}")


def test_only_later_lines_are_read() -> None:
    with mock_aws():
        logs, now = client(), datetime.now(UTC)
        logs.create_log_group(logGroupName=GROUP)
        logs.create_log_stream(logGroupName=GROUP, logStreamName="s")
        lines = [
            {"timestamp": int((now - timedelta(minutes=ago)).timestamp() * 1000), "message": f"{ago}"}
            for ago in (60, 5)
        ]
        logs.put_log_events(logGroupName=GROUP, logStreamName="s", logEvents=lines)

        read = list(FunctionLogs(logs).lines("gpu-lab-events", now - timedelta(minutes=10), ""))

    assert [line.text for line in read] == ["5"]


def test_a_function_that_was_never_deployed_is_named() -> None:
    with mock_aws(), pytest.raises(OutsideFailed, match=r"logs:FilterLogEvents.*gpu-lab-events"):
        list(FunctionLogs(client()).lines("gpu-lab-events", datetime.now(UTC), ""))
