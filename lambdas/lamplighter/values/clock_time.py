"""How logs and older ledger items write an instant inside a sentence: `20:00 UTC on 2026-11-20`."""

import re
from collections.abc import Callable
from datetime import UTC, datetime


def clock_time(instant: datetime) -> str:
    """How a reason names an instant: `20:00 UTC on 2026-11-20`."""
    utc = instant.astimezone(UTC)
    return f"{utc:%H:%M} UTC on {utc:%Y-%m-%d}"


_CLOCK_TIME = re.compile(r"([0-9]{2}:[0-9]{2}) UTC on ([0-9]{4}-[0-9]{2}-[0-9]{2})")


def told_by(clock: Callable[[datetime], str], sentence: str) -> str:
    """A sentence that was kept, with every `clock_time` in it as this clock writes it."""
    return _CLOCK_TIME.sub(lambda found: _retold(clock, found), sentence)


def _retold(clock: Callable[[datetime], str], found: re.Match[str]) -> str:
    try:
        return clock(datetime.fromisoformat(f"{found[2]}T{found[1]}:00+00:00"))
    except (ValueError, OverflowError):
        return found[0]
