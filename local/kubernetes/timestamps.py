"""Rewrites the instants in Kubernetes' JSON between the machine's time and the virtual clock's.

Only fields that Kubernetes itself fills with an instant, by their names, and only in the two forms in which it
writes them; so a document keeps its length, and text that looks like an instant elsewhere is left alone.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from math import floor

from local.clock_history import ClockHistory

_FIELDS = (
    *("creationTimestamp", "deletionTimestamp", "time"),  # metadata and its managedFields
    *("lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastProbeTime", "timeAdded"),
    *("firstTimestamp", "lastTimestamp", "eventTime", "lastObservedTime"),
    *("startTime", "completionTime", "startedAt", "finishedAt"),
    *("lastScheduleTime", "lastSuccessfulTime", "acquireTime", "renewTime"),
)
_STAMP = rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z"
_FIELD = re.compile(rb'("(?:%s)":\s*")%s(?=")' % ("|".join(_FIELDS).encode(), _STAMP))
_LINE = re.compile(rb"^()%s" % _STAMP, re.MULTILINE)
_ALONE = re.compile(rb"^()%s$" % _STAMP)

_Change = Callable[[int, float | None], float]


class Timestamps:
    """Of one cluster and one clock."""

    def __init__(self, history: ClockHistory) -> None:
        self._history = history

    def told(self, document: bytes) -> bytes:
        """What Kubernetes answered, in virtual time."""
        return _rewritten(_FIELD, document, self._virtual)

    def meant(self, document: bytes) -> bytes:
        """What a client sent, in the machine's time; what it was told before is as Kubernetes said it."""
        return _rewritten(_FIELD, document, self._real)

    def told_lines(self, log: bytes) -> bytes:
        """Whole lines of a log that begin with an instant each, in virtual time."""
        return _rewritten(_LINE, log, self._virtual)

    def meant_instant(self, stamp: bytes) -> bytes:
        """One instant by itself, in the machine's time."""
        return _rewritten(_ALONE, stamp, self._real)

    def _virtual(self, second: int, fraction: float | None) -> float:
        if fraction is None:
            return self._history.virtual_of_second(second)
        return self._history.virtual(second + fraction)

    def _real(self, second: int, fraction: float | None) -> float:
        if fraction is not None:
            return self._history.real(second + fraction)
        real = floor(self._history.real(second))
        # A stamp that was told lost the fraction of its second.
        return next(
            (s for s in (real, real + 1) if floor(self._history.virtual_of_second(s)) == second), real
        )


def _rewritten(pattern: re.Pattern[bytes], text: bytes, change: _Change) -> bytes:
    known: dict[tuple[bytes, bytes | None], bytes] = {}

    def changed(found: re.Match[bytes]) -> bytes:
        before, stamp, fraction = found.groups()
        if (stamp, fraction) not in known:
            known[stamp, fraction] = _changed(stamp, fraction, change)
        new: bytes = before + known[stamp, fraction]
        return new

    return pattern.sub(changed, text)


def _changed(stamp: bytes, fraction: bytes | None, change: _Change) -> bytes:
    """In as many digits as before, cut off and not rounded, as Kubernetes does."""
    try:
        second = int(datetime.fromisoformat(stamp.decode() + "+00:00").timestamp())
        instant = change(second, None if fraction is None else float(fraction))
        whole = datetime.fromtimestamp(floor(instant), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError, OSError):  # no instant after all, or one that has no name
        return stamp + (fraction or b"") + b"Z"
    if fraction is None:
        return f"{whole}Z".encode()
    digits = len(fraction) - 1
    # Some digits beyond a microsecond come of the arithmetic alone.
    parts = floor((instant - floor(instant)) * 1e6 + 1e-1)
    return f"{whole}.{f'{min(parts, 999999):06d}'.ljust(digits, '0')[:digits]}Z".encode()
