"""One log group of CloudWatch Logs: what it is, and its deletion. function_logs.py reads lines."""

from dataclasses import dataclass
from typing import Any, Protocol

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border


class Logs(Protocol):
    """What this module needs of boto3's client."""

    def get_paginator(self, operation: str) -> Any: ...  # noqa: ANN401 -- boto3's own

    def delete_log_group(self, **given: object) -> object: ...


@dataclass(frozen=True, slots=True)
class LogGroupState:
    """An existing log group."""

    expires: bool
    """Whether its lines are deleted after some days."""
    stored_bytes: int


@border
class LogGroup:
    """A log group by its name."""

    def __init__(self, name: str, logs: Logs | None = None) -> None:
        self._name = name
        self._logs: Logs = logs or client("logs")

    def read(self) -> LogGroupState | None:
        """The log group; None where there is none."""
        with outside("logs:DescribeLogGroups", self._name):
            pages = self._logs.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=self._name)
            found = [group for page in pages for group in page["logGroups"]]
        for group in found:
            if group.get("logGroupName") == self._name:
                return LogGroupState("retentionInDays" in group, int(group.get("storedBytes", 0)))
        return None

    def delete(self) -> None:
        """Deletes it with its lines; one that does not exist is deleted."""
        with outside("logs:DeleteLogGroup", self._name):
            try:
                self._logs.delete_log_group(logGroupName=self._name)
            except Exception as error:
                if error_code(error) != "ResourceNotFoundException":
                    raise
