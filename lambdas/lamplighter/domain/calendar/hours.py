"""The hours of windows, and when they open over a range of time or at an instant.

Owns dates, exceptions and the change from the wall clock to instants, for the simulation, the planner and whoever
asks what is open now. Many windows of a lab have the same hours. wall_clock.py knows the changes of the clocks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import NamedTuple, Self, TypeAlias

from lamplighter.domain.calendar import wall_clock
from lamplighter.lab.model import Lab
from lamplighter.lab.types import MINUTES_A_DAY
from lamplighter.lab.windows import Window, is_of_month
from lamplighter.reasons.reason import Said
from lamplighter.values import zones
from lamplighter.values.zones import DAY, EPOCH_ORDINAL

# Dates at whose edges every instant can still be named in every zone.
FIRST_DATE, LAST_DATE = date(2, 1, 1), date(9998, 12, 31)
FIRST, LAST = FIRST_DATE.toordinal(), LAST_DATE.toordinal()
MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)


class Range(NamedTuple):
    """A half-open range of time, in seconds since 1970."""

    start: int
    """Seconds, rounded down: a window that closes later than this meets the range."""
    first: int
    """Seconds, rounded up: the first second inside the range."""
    end: int
    """Seconds, rounded up: a window that opens earlier than this meets the range."""

    @classmethod
    def between(cls, start: datetime, end: datetime) -> "Range":
        """The range between two instants."""
        return cls(_seconds_down(start), _seconds_up(start), _seconds_up(end))

    @classmethod
    def at(cls, instant: datetime) -> "Range":
        """The second in which an instant lies: a window that is open then meets it."""
        seconds = _seconds_down(instant)
        return cls(seconds, seconds, seconds + 1)

    def meets(self, opening: int, closing: int) -> bool:
        """Whether an opening, an empty one included, belongs to the range."""
        if closing <= opening:
            return self.first <= opening < self.end
        return opening < self.end and closing > self.start


Opening: TypeAlias = tuple[date, int, int, tuple[Said, ...], bool]
"""Its date; when it opens and closes, in seconds since 1970; notes on the wall clock; whether it is excepted.

One that a change of the clocks leaves empty closes no later than it opens. A plain tuple: a lab has thousands.
"""


@dataclass(frozen=True, slots=True)
class Day:
    """A local date on which an opening that meets a range may start."""

    date: date
    ordinal: int
    earliest: int
    """The begin of the range, in minutes of this date; the least where clocks change."""
    latest: int
    """The end of the range, in minutes of this date; the greatest where clocks change."""
    midnight: int | None
    """In seconds since 1970; None where clocks change near it."""


class Days:
    """The local dates of a zone on which an opening that meets a range may start.

    Near a change of the clocks the bounds are wider than needed: each opening is compared with the range itself.
    """

    def __init__(self, zone: str, wanted: Range) -> None:
        self._steady = zones.steady_days(zone)
        least, _ = self._steady.offsets_around(wanted.start)
        _, most = self._steady.offsets_around(wanted.end - 1)
        self._earliest, self._latest = (wanted.start + least) // 60, (wanted.end - 1 + most) // 60
        # A window lasts at most a day by the wall clock, so it started on the first date or the day before.
        self._first = max(self._earliest // MINUTES_A_DAY - 1 + EPOCH_ORDINAL, FIRST)
        self._last = min(self._latest // MINUTES_A_DAY + EPOCH_ORDINAL, LAST)

    @cached_property
    def all(self) -> tuple[Day, ...]:
        """Every date, in order."""
        return tuple(map(self._day, range(self._first, self._last + 1)))

    def of(self, hours: "Hours") -> Sequence[Day]:
        """The dates that matter for these hours: few where the hours name their dates."""
        if not hours.dates:
            return self.all
        return [self._day(day) for day in sorted(hours.dates) if self._first <= day <= self._last]

    def _day(self, ordinal: int) -> Day:
        number = ordinal - EPOCH_ORDINAL
        minutes, offset = number * MINUTES_A_DAY, self._steady.offset(ordinal)
        midnight = None if offset is None else number * DAY - offset
        day = date.fromordinal(ordinal)
        return Day(day, ordinal, self._earliest - minutes, self._latest - minutes, midnight)


@dataclass(frozen=True, slots=True)
class Hours:
    """From a minute of a local date to a minute of it or of the next, on some dates."""

    zone: str
    start: int
    end: int
    weekdays: frozenset[int]
    """Monday 0 to Sunday 6; every one where this, the next and the dates are empty."""
    of_month: frozenset[tuple[int, int]]
    """Such as every second Tuesday, as `Window.of_month` has them."""
    dates: frozenset[int]
    """Ordinals; empty: every date."""
    excepted: frozenset[int]
    first: int
    last: int

    @classmethod
    def of(cls, lab: Lab, window: Window) -> Self:
        """The hours of a window; ValueError for one that is not `timed`."""
        return cls(
            lab.zone_of(window),
            window.begins,
            window.begins + window.length // MINUTE,
            window.weekdays,
            window.of_month,
            frozenset(map(date.toordinal, window.start_dates)),
            frozenset(map(date.toordinal, lab.exceptions_of(window))),
            (window.from_ or date.min).toordinal(),
            (window.until or date.max).toordinal(),
        )

    def openings(self, days: Iterable[Day], wanted: Range) -> list[Opening]:
        """The openings that meet a range, by date, with those that do not happen; `days` are the zone's there."""
        since, first, until = wanted
        return [
            (day.date, opens, closes, notes, day.ordinal in self.excepted)
            for day in days
            if self.start <= day.latest and day.earliest < self.end and self._on(day.ordinal)
            for opens, closes, notes in (self._times(day),)
            # As Range.meets has it, without a call for each of them.
            if opens < until and (closes > since if closes > opens else opens >= first)
        ]

    def _on(self, ordinal: int) -> bool:
        # Ordinal 1, the first of January of year 1, was a Monday.
        return (
            self.first <= ordinal <= self.last
            and (not self.dates or ordinal in self.dates)
            and (
                (ordinal - 1) % 7 in self.weekdays
                or (not self.of_month and not self.weekdays)
                or (bool(self.of_month) and is_of_month(date.fromordinal(ordinal), self.of_month))
            )
        )

    def _times(self, day: Day) -> tuple[int, int, tuple[Said, ...]]:
        if day.midnight is None:
            length = (self.end - self.start) * MINUTE
            return wall_clock.opening(day.date, self.start, length, zones.zone(self.zone))
        return day.midnight + self.start * 60, day.midnight + self.end * 60, ()


def _seconds_down(at: datetime) -> int:
    return (at.astimezone(UTC) - zones.EPOCH) // _SECOND


def _seconds_up(at: datetime) -> int:
    return -((zones.EPOCH - at.astimezone(UTC)) // _SECOND)
