"""Instants as the API server's CEL reads them: by Go's parser, which takes more than RFC 3339 has.

https://github.com/cel-expr/cel-go/issues/1108 lists what: an hour of one digit, a comma before the fraction, offsets of
24 hours and of 60 minutes. An instant outside years 1 to 9999 is an error.
"""

import re
from datetime import UTC, datetime, timedelta

_FORM = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
MOST_HOURS, MOST_MINUTES = 24, 60


def timestamp(text: str) -> datetime | None:
    """The instant; None where CEL has an error."""
    found = _FORM.fullmatch(text)
    hours, minutes = (int(found[9] or 0), int(found[10] or 0)) if found else (0, 0)
    if found is None or hours > MOST_HOURS or minutes > MOST_MINUTES:
        return None
    ahead = timedelta(hours=hours, minutes=minutes) * (-1 if found[8] == "-" else 1)
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction = int((found[7] or "")[:6].ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, fraction, UTC) - ahead
    except (ValueError, OverflowError):
        return None
