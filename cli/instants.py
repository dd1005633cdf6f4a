"""The instants in options."""

import re
from datetime import UTC, datetime

from lamplighter.errors import BadInput

_RFC_3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([01][0-9]|2[0-3])(:[0-5][0-9]:[0-5][0-9])(?:\.([0-9]+))?"
    r"([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
MICROSECOND_DIGITS = 6


def instant(option: str, text: str) -> datetime:
    """An RFC 3339 instant in UTC; BadInput names the option."""
    right = "write an instant with an offset such as 2026-03-01T00:00:00+09:00"
    shown = "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in text[:80])
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise BadInput(f"--{option.strip('-')}: '{shown}' is no RFC 3339 instant, {right}")
    day, hour, rest, fraction, offset = match.groups()
    fraction = (fraction or "")[:MICROSECOND_DIGITS].ljust(MICROSECOND_DIGITS, "0")
    try:
        return datetime.fromisoformat(f"{day}T{hour}{rest}.{fraction}{offset.upper()}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(f"--{option.strip('-')}: '{shown}' is on no calendar, {right}") from None
