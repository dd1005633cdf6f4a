"""The keys of a body that a person or a program sends: each is read with its type and its bounds.

Every function raises BadInput, which names the key and what would be right. A key that is left out is None.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason
from lamplighter.values import instant

LONGEST_TEXT = 500
LONGEST_NAME = 100
MOST_NODES = 100
LONGEST = timedelta(days=366)
FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""The range of instants that every time zone can represent."""


def shown(value: object) -> str:
    """What somebody sent, short and in one line, for a reason."""
    written = str(value)[:80]
    return written if written and written.isprintable() else repr(written)


def text(body: Mapping[str, object], key: str, longest: int = LONGEST_NAME) -> str | None:
    """Printable text of at most so many characters, and not only spaces."""
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > longest or not value.isprintable():
        raise BadInput(reason("command.text-needed", key=key, longest=longest, value=repr(str(value)[:80])))
    return value


def flag(body: Mapping[str, object], key: str) -> bool:
    """True or false; left out it is false."""
    value = body.get(key, False)
    if not isinstance(value, bool):
        raise BadInput(reason("command.flag-needed", key=key, value=repr(str(value)[:80])))
    return value


def nodes(body: Mapping[str, object]) -> int | None:
    """The number of nodes."""
    return _whole(body, "nodes", MOST_NODES)


def lasting(body: Mapping[str, object]) -> timedelta | None:
    """`for_seconds`: how long."""
    seconds = _whole(body, "for_seconds", int(LONGEST.total_seconds()))
    return None if seconds is None else timedelta(seconds=seconds)


def instant_of(body: Mapping[str, object], key: str) -> datetime | None:
    """An instant to the second, written with its offset."""
    written = text(body, key)
    if written is None:
        return None
    try:
        found = instant.read(written).replace(microsecond=0)
    except BadInput as error:
        raise BadInput(reason("command.instant-needed", key=key, value=repr(written[:80]))) from error
    if not FIRST <= found < LAST:
        raise BadInput(
            reason(
                "command.instant-out-of-range",
                key=key,
                first=FIRST.year,
                last=LAST.year,
                value=repr(written[:80]),
            )
        )
    return found


def _whole(body: Mapping[str, object], key: str, most: int) -> int | None:
    value = body.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise BadInput(reason("command.number-needed", key=key, most=most, value=repr(str(value)[:80])))
    return value
