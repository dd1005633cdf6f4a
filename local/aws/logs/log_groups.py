"""The log groups of functions in moto's CloudWatch Logs, and FilterLogEvents with CloudWatch's filter patterns.

A function's lines go into moto's objects without a call, in batches, and appear at once. CloudWatch takes a few seconds
for that, and promises nothing. Each stream keeps only its newest lines, and each group only its newest streams.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import moto.logs.models as moto_logs
from moto.logs.exceptions import InvalidParameterException

from local.aws.logs.filter_pattern import compiled

MOST_LINES, MOST_STREAMS = 5_000, 20


class LogGroups:
    """`locked` is held while a group changes."""

    def __init__(self, locked: Callable[[], AbstractContextManager[object]]) -> None:
        self._locked = locked

    def install(self) -> None:
        """Replaces moto's filter patterns: moto returns everything for a pattern that it does not know."""
        vars(moto_logs)["EventMessageFilter"] = _Filter
        moto_logs.LogsBackend.filter_log_events = _filter_log_events  # type: ignore[method-assign,assignment]

    def write(self, function_arn: str, stream: str, lines: list[str], at: float) -> None:
        """Writes a function's lines of an instant, an epoch. Without its log group, AWS keeps them nowhere either."""
        _, _, _, region, account, _, name, *_ = function_arn.split(":")
        with self._locked():
            group = moto_logs.logs_backends[account][region].groups.get(f"/aws/lambda/{name}")
            if group is None:
                return
            if stream not in group.streams:
                group.create_log_stream(stream)
                for oldest in list(group.streams)[:-MOST_STREAMS]:
                    group.delete_log_stream(oldest)
            instant = int(at * 1000)
            group.put_log_events(stream, [{"timestamp": instant, "message": line} for line in lines])
            del group.streams[stream].events[:-MOST_LINES]


class _Filter:
    """In the place of moto's EventMessageFilter."""

    def __init__(self, pattern: str | None) -> None:
        self.matches = _known(pattern)


_moto_filters = moto_logs.LogsBackend.filter_log_events


def _filter_log_events(  # noqa: PLR0917 (moto's own signature)
    backend: Any,
    group: str,
    streams: list[str],
    start: int,
    end: int,
    limit: int | None,
    token: str | None,
    pattern: str,
    _interleaved: bool,
) -> Any:
    """A pattern is refused also where no line would be compared with it."""
    _known(pattern)
    return _moto_filters(backend, group, streams, start, end, limit, token, pattern, True)


def _known(pattern: str | None) -> Callable[[str], bool]:
    try:
        return compiled(pattern or "")
    except ValueError:
        raise InvalidParameterException(f"Invalid filter pattern: {pattern}") from None
