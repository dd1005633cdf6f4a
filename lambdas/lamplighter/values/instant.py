"""How an instant is written and read: RFC 3339, UTC, `Z`, as the contract and the ledger have it.

Owns the text form alone; what an instant means (zones, gaps, windows) belongs to calendar.py.
"""

from datetime import MAXYEAR, MINYEAR, UTC, datetime

from lamplighter.errors import BadInput
from lamplighter.values.clock_time import clock_time as clock_time  # noqa: PLC0414 -- for its callers here, as before
from lamplighter.values.clock_time import told_by as told_by  # noqa: PLC0414 -- for its callers here, as before

_MILLISECOND = 1000


def written(instant: datetime) -> str:
    """`2026-11-20T11:00:00Z`; milliseconds only where there are any. Read and written again, it is the same."""
    precision = "milliseconds" if instant.microsecond >= _MILLISECOND else "seconds"
    return instant.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def read(text: str) -> datetime:
    """The instant that a text with an offset names, in UTC; anything else is BadInput."""
    try:
        instant = datetime.fromisoformat(text)
        # On the last day of year 9999 an offset may lead past the end of the calendar.
        in_utc = instant.astimezone(UTC) if instant.tzinfo else None
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"'{str(text)[:80]}' is no instant: write it like 2026-11-20T11:00:00Z") from error
    if in_utc is None:
        raise BadInput(f"'{text}' has no offset: write it like 2026-11-20T11:00:00Z")
    return in_utc


def foreign(text: object) -> datetime | None:
    """The instant in a text that others write, such as a kubelet, a controller or a person; None where it is none.

    None as well for the first and the last year of the calendar: nothing could be added to such an instant, and not
    every zone has a clock time for it.
    """
    try:
        instant = read(str(text))
    except BadInput:
        return None
    return instant if MINYEAR < instant.year < MAXYEAR else None
