"""The hours of windows: when they are open, whoever they are for; many windows of a lab have the same.

The rules are calendar.py's, turned round: which openings there are at an instant, not in a range. Near a
change of the clocks wall_clock.py says what an opening is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Self

from lamplighter.domain.calendar import wall_clock
from lamplighter.domain.calendar.occurrences import FIRST_DATE, LAST_DATE
from lamplighter.lab.model import Lab
from lamplighter.lab.types import MINUTES_A_DAY
from lamplighter.lab.windows import Window
from lamplighter.values import zones
from lamplighter.values.zones import DAY, EPOCH_ORDINAL

FIRST, LAST = FIRST_DATE.toordinal(), LAST_DATE.toordinal()
MINUTE = timedelta(minutes=1)

Opening = tuple[date, int, int, tuple[str, ...]]
"""Its date, when it opens and closes, in seconds since 1970, and what is unlike the clock on the wall."""


@dataclass(frozen=True, slots=True)
class OpenDay:
    """A local date, with the minutes of it that an instant may be, counted on into the next day.

    The two differ only near a change of the clocks, where an opening is then worked out to be sure.
    """

    date: date
    earliest: int
    latest: int
    midnight: int | None
    """In seconds since 1970; None where clocks change near it."""


@dataclass(frozen=True, slots=True)
class Hours:
    """From a minute of a local date to a minute of it or of the next, on some dates."""

    zone: str
    start: int
    end: int
    weekdays: frozenset[int]
    """Monday 0 to Sunday 6; empty: every one."""
    dates: frozenset[date]
    """Empty: every one."""
    excepted: frozenset[date]
    first: date
    last: date

    @classmethod
    def of(cls, lab: Lab, window: Window) -> Self:
        """A window's; ValueError for one that is not `timed`."""
        return cls(
            lab.zone_of(window),
            window.begins,
            window.begins + window.length // MINUTE,
            window.weekdays,
            frozenset(window.start_dates),
            lab.exceptions_of(window),
            window.from_ or date.min,
            window.until or date.max,
        )

    def open_at(self, seconds: int, days: Iterable[OpenDay]) -> tuple[Opening, ...]:
        """The openings that an instant is in, in order; `days` are the zone's there."""
        return tuple(
            [
                (day.date, opens, closes, notes)
                for day in days
                if self.start <= day.latest and day.earliest < self.end and self._on(day.date)
                for opens, closes, notes in (self._opening(day),)
                if opens <= seconds < closes
            ]
        )

    def _on(self, day: date) -> bool:
        return (
            self.first <= day <= self.last
            and (not self.weekdays or day.weekday() in self.weekdays)
            and (not self.dates or day in self.dates)
            and day not in self.excepted
        )

    def _opening(self, day: OpenDay) -> tuple[int, int, tuple[str, ...]]:
        if day.midnight is None:
            length = timedelta(minutes=self.end - self.start)
            return wall_clock.opening(day.date, self.start, length, zones.zone(self.zone))
        return day.midnight + self.start * 60, day.midnight + self.end * 60, ()


def open_days(zone: str, seconds: int) -> Iterator[OpenDay]:
    """The dates on which hours that an instant is in may have started, in order."""
    steady = zones.steady_days(zone)
    least, most = steady.offsets_around(seconds)
    earliest, latest = (seconds + least) // 60, (seconds + most) // 60
    # A window lasts at most a day by the clock on the wall, so it started today or the day before.
    for day in range(earliest // MINUTES_A_DAY - 1, latest // MINUTES_A_DAY + 1):
        ordinal, minutes = day + EPOCH_ORDINAL, day * MINUTES_A_DAY
        if FIRST <= ordinal <= LAST:
            offset = steady.offset(ordinal)
            midnight = None if offset is None else day * DAY - offset
            yield OpenDay(date.fromordinal(ordinal), earliest - minutes, latest - minutes, midnight)
