"""The dates on which windows do not open, as `except` writes them: dates, ranges of dates, calendar files."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Annotated, NamedTuple

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from lamplighter.lab.names import CALENDAR_FILE
from lamplighter.lab.types import DATE_PATTERN, read_date, shown

LONGEST_RANGE = 1000
"""Days: a range that never ends is an `until` of the window."""
ENDS = ("from", "to")
_DATE = re.compile(DATE_PATTERN)


class DateRange(NamedTuple):
    """Dates from the first to the last, both inclusive."""

    first: date
    last: date

    @property
    def days(self) -> Iterable[date]:
        """Every date of the range, in order."""
        return (self.first + timedelta(number) for number in range((self.last - self.first).days + 1))


def read_exception(value: object) -> date | DateRange | str:
    """A date, a range `{from, to}`, or the name of a calendar file. Raises ValueError."""
    if isinstance(value, DateRange):
        return value
    if isinstance(value, Mapping):
        return _range(value)
    if isinstance(value, str) and value.endswith(".ics"):
        if re.search(CALENDAR_FILE, value):
            return value
        raise ValueError(f"is {shown(value)}, write a file beside the lab such as holidays.ics")
    if isinstance(value, str) and not _DATE.fullmatch(value):
        right = "a date as YYYY-MM-DD, a range such as {from: 2026-07-20, to: 2026-08-10} or a file"
        raise ValueError(f"is {shown(value)}, write {right} such as holidays.ics")
    return read_date(value)


def _range(value: Mapping[object, object]) -> DateRange:
    if set(value) != set(ENDS):
        raise ValueError(
            f"is {shown(value)}, write a range with from and to: {{from: 2026-07-20, to: 2026-08-10}}"
        )
    first, last = (_end(name, value[name]) for name in ENDS)
    if last < first:
        raise ValueError(f"has to {last} before from {first}, write the earlier date as from")
    if (last - first).days >= LONGEST_RANGE:
        raise ValueError(f"has more than {LONGEST_RANGE} days, end the window with until")
    return DateRange(first, last)


def _end(name: str, value: object) -> date:
    try:
        return read_date(value)
    except ValueError as error:
        raise ValueError(f"has a {name} that {error}") from None


def write_exception(value: date | DateRange | str) -> str | dict[str, str]:
    """The exception as lab.yaml writes it."""
    if isinstance(value, DateRange):
        return dict(zip(ENDS, map(date.isoformat, value), strict=True))
    return value if isinstance(value, str) else value.isoformat()


_DATE_SCHEMA = {"type": "string", "pattern": DATE_PATTERN}
ExceptionDates = Annotated[
    date | DateRange | str,
    PlainValidator(read_exception),
    PlainSerializer(write_exception),
    WithJsonSchema(
        {
            "anyOf": [
                _DATE_SCHEMA,
                {"type": "string", "pattern": CALENDAR_FILE},
                {
                    "type": "object",
                    "properties": dict.fromkeys(ENDS, _DATE_SCHEMA),
                    "required": list(ENDS),
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


def calendar_files(exceptions: Iterable[date | DateRange | str]) -> list[str]:
    """The calendar files among exceptions, in their order."""
    return [each for each in exceptions if isinstance(each, str)]


def dates_of(
    exceptions: Iterable[date | DateRange | str], holidays: Mapping[str, Sequence[date]] | None
) -> frozenset[date]:
    """Every date that exceptions name; `holidays` has the whole days of each calendar file, which has none unread."""
    named: set[date] = set()
    for each in exceptions:
        match each:
            case DateRange():
                named.update(each.days)
            case str():
                named.update((holidays or {}).get(each, ()))
            case date():
                named.add(each)
    return frozenset(named)
