"""Reads what functions logged, from CloudWatch Logs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border

CALL = "logs:FilterLogEvents"


class Pages(Protocol):
    """What this module needs of boto3's paginator."""

    def paginate(self, **given: object) -> Iterable[Mapping[str, Any]]: ...


class Logs(Protocol):
    """What this module needs of boto3's client."""

    def get_paginator(self, operation: str, /) -> Pages: ...


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log."""

    id: str
    """CloudWatch's own id of the line."""
    at: datetime
    text: str


@border
class FunctionLogs:
    """The log groups of functions, by the functions' names."""

    def __init__(self, logs: Logs | None = None) -> None:
        self._logs: Logs = logs or client("logs")

    def lines(self, function: str, since: datetime, pattern: str) -> Iterator[LogLine]:
        """The lines of all streams since an instant that fit CloudWatch's filter pattern, page by page.

        Raises OutsideFailed or TryLater, also where the function was never deployed.
        """
        group = f"/aws/lambda/{function}"
        pages = self._logs.get_paginator("filter_log_events").paginate(
            logGroupName=group, startTime=int(since.timestamp() * 1000), filterPattern=pattern
        )
        with outside(CALL, group):
            for page in pages:
                for line in page.get("events", []):
                    at = datetime.fromtimestamp(line["timestamp"] / 1000, UTC)
                    yield LogLine(line["eventId"], at, line["message"])
