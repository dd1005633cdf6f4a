"""How an instant is written and read: RFC 3339, UTC, `Z`, as the contract and the ledger have it.

Owns the text form alone; what an instant means (zones, gaps, windows) belongs to calendar.py.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from lamplighter.errors import BadInput

_MILLISECOND = 1000


def written(instant: datetime) -> str:
    """`2026-11-20T11:00:00Z`; milliseconds only where there are any. Read and written again, it is the same."""
    precision = "milliseconds" if instant.microsecond >= _MILLISECOND else "seconds"
    return instant.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def read(text: str) -> datetime:
    """The instant that a text with an offset names, in UTC; anything else is BadInput."""
    try:
        instant = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise BadInput(f"'{str(text)[:80]}' is no instant: write it like 2026-11-20T11:00:00Z") from error
    if instant.tzinfo is None:
        raise BadInput(f"'{text}' has no offset: write it like 2026-11-20T11:00:00Z")
    return instant.astimezone(UTC)


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
