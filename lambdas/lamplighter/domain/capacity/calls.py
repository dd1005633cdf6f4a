"""Calls that AWS makes by itself at an instant, without our code: what a failsafe is made of.

domain/schedules/failsafe.py gives them their names as schedules; a kind's off_switch says what they call.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

AFTER_END = timedelta(minutes=10)
"""The first call comes so long after the last lease's end."""
MINUTES = (10, 20, 30, 40)
"""The instants of the four calls, in minutes after that end."""


@dataclass(frozen=True)
class Call:
    """A target of EventBridge Scheduler, and what it is sent. It orders size zero, so it never adds a node."""

    target: str
    sent: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A call at an instant (UTC); `input` is what is sent, as JSON."""

    at: datetime
    target: str
    input: str


def instants(first: datetime) -> tuple[datetime, ...]:
    """When the four calls come, the first at `first`."""
    return tuple(first + timedelta(minutes=minutes) - AFTER_END for minutes in MINUTES)


def timed(first: datetime, calls: Sequence[Call]) -> tuple[TimedCall, ...]:
    """Each of the four calls at its instant."""
    return tuple(
        TimedCall(at, call.target, json.dumps(call.sent))
        for at, call in zip(instants(first), calls, strict=True)
    )
