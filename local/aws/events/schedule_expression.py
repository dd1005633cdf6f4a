"""Schedule expressions as AWS reads them: at(), rate() and cron() with six fields, in a time zone.

It is as strict as AWS. It says when an expression is due next; others act on it.
"""

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MONTHS = {name.upper(): number for number, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {name: number for number, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), 1)}
UNITS = {"minute": 60, "hour": 3600, "day": 86400}
FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minutes", 0, 59, {}),
    ("hours", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, MONTHS),
    ("day of week", 1, 7, WEEKDAYS),
    ("year", 1970, 2199, {}),
)


class BadExpression(ValueError):
    """AWS does not accept the expression, or its time zone."""


#: Whether a date has the day that a cron expression names.
DayTest = Callable[[date], bool]


@dataclass(frozen=True)
class At:
    """Once; `epoch` is when."""

    epoch: float

    def next_after(self, epoch: float, _created: float) -> float | None:
        return self.epoch if self.epoch > epoch else None


@dataclass(frozen=True)
class Rate:
    """Every so many seconds, from the time of its creation."""

    seconds: int

    def next_after(self, epoch: float, created: float) -> float | None:
        passed = int((epoch - created) // self.seconds)
        return created + (passed + 1) * self.seconds


@dataclass(frozen=True)
class Cron:
    """At wall-clock times. A time that a clock change skips is skipped; a time that it repeats runs once."""

    minutes: frozenset[int]
    hours: frozenset[int]
    is_day: DayTest
    months: frozenset[int]
    years: frozenset[int]
    zone: ZoneInfo

    def next_after(self, epoch: float, _created: float) -> float | None:
        day = datetime.fromtimestamp(epoch, self.zone).date()
        last = max(self.years)
        while day.year <= last:
            if day.year not in self.years:
                day = date(day.year + 1, 1, 1)
            elif day.month not in self.months:
                day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
            else:
                found = self._on(day, epoch) if self.is_day(day) else None
                if found is not None:
                    return found
                day += timedelta(days=1)
        return None

    def _on(self, day: date, epoch: float) -> float | None:
        for hour in sorted(self.hours):
            for minute in sorted(self.minutes):
                local = datetime.combine(day, time(hour, minute), self.zone)
                instant = local.astimezone(UTC)
                exists = instant.astimezone(self.zone).replace(tzinfo=None) == local.replace(tzinfo=None)
                if exists and instant.timestamp() > epoch:
                    return instant.timestamp()
        return None


Expression = At | Rate | Cron


def parse(text: str, zone: str = "UTC") -> Expression:
    """The expression in its zone, or BadExpression."""
    where = _zone(zone)
    parts = re.fullmatch(r"(at|rate|cron)\((.*)\)", text)
    if parts is None:
        raise BadExpression(f"Invalid Schedule Expression {text}.")
    kind, body = parts.groups()
    try:
        return READERS[kind](body, where)
    except (ValueError, BadExpression) as error:
        raise BadExpression(f"Invalid Schedule Expression {text}. {error}") from error


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except Exception as error:
        raise BadExpression(f"Invalid ScheduleExpressionTimezone {name}.") from error


def _at(body: str, zone: ZoneInfo) -> At:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", body):
        raise BadExpression("at() takes yyyy-mm-ddThh:mm:ss")
    return At(datetime.fromisoformat(body).replace(tzinfo=zone).timestamp())


def _rate(body: str, _: ZoneInfo) -> Rate:
    parts = re.fullmatch(r"([1-9]\d*) (minute|hour|day)(s?)", body)
    if parts is None or (parts[1] != "1" and not parts[3]):
        raise BadExpression("rate() takes a whole number and minutes, hours or days")
    return Rate(int(parts[1]) * UNITS[parts[2]])


def _cron(body: str, zone: ZoneInfo) -> Cron:
    fields = body.split(" ")
    if len(fields) != len(FIELDS):
        raise BadExpression("cron() takes six fields")
    minutes, hours, day, month, weekday, year = fields
    if (day == "?") == (weekday == "?"):
        raise BadExpression("exactly one of day of month and day of week is ?")
    return Cron(
        minutes=_values(minutes, 0),
        hours=_values(hours, 1),
        is_day=_day_of_month(day) if weekday == "?" else _day_of_week(weekday),
        months=_values(month, 3),
        years=_values(year, 5),
        zone=zone,
    )


def _values(text: str, field: int) -> frozenset[int]:
    """The numbers of a field: lists, ranges, steps and names."""
    label, low, high, names = FIELDS[field]
    numbers: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if slash and (not step.isdigit() or int(step) < 1):
            raise BadExpression(f"{text} is not a {label} field")
        if span == "*":
            first, last = low, high
        else:
            begin, dash, end = span.partition("-")
            first = _number(begin, names, label)
            last = _number(end, names, label) if dash else high if slash else first
        if not low <= first <= last <= high:
            raise BadExpression(f"{text} is outside {label} {low} to {high}")
        numbers |= set(range(first, last + 1, int(step) if slash else 1))
    return frozenset(numbers)


def _number(text: str, names: dict[str, int], label: str) -> int:
    if text.upper() in names:
        return names[text.upper()]
    if not text.isdigit():
        raise BadExpression(f"{text!r} is not a {label}")
    return int(text)


def _day_of_month(text: str) -> DayTest:
    if text == "L":
        return lambda day: day.day == calendar.monthrange(day.year, day.month)[1]
    if text.endswith("W"):
        (wanted,) = _values(text[:-1], 2)
        return lambda day: day == _nearest_weekday(day.year, day.month, wanted)
    days = _values(text, 2)
    return lambda day: day.day in days


def _nearest_weekday(year: int, month: int, wanted: int) -> date | None:
    last = calendar.monthrange(year, month)[1]
    if wanted > last:
        return None
    day = date(year, month, wanted)
    if day.weekday() == calendar.SATURDAY:
        return day - timedelta(days=1) if wanted > 1 else day + timedelta(days=2)
    if day.weekday() == calendar.SUNDAY:
        return day + timedelta(days=1) if wanted < last else day - timedelta(days=2)
    return day


def _day_of_week(text: str) -> DayTest:
    if "#" in text:
        name, _, nth = text.partition("#")
        (wanted,) = _values(name, 4)
        if nth not in set("12345"):
            raise BadExpression(f"{text} is not a day of week field")
        return lambda day: _weekday(day) == wanted and (day.day - 1) // 7 + 1 == int(nth)
    if text.endswith("L"):
        (wanted,) = _values(text[:-1] or "7", 4)
        return lambda day: _weekday(day) == wanted and (day + timedelta(days=7)).month != day.month
    days = _values(text, 4)
    return lambda day: _weekday(day) in days


def _weekday(day: date) -> int:
    """1 is Sunday, as AWS counts."""
    return day.isoweekday() % 7 + 1


READERS: dict[str, Callable[[str, ZoneInfo], Expression]] = {"at": _at, "rate": _rate, "cron": _cron}
