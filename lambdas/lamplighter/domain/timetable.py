"""Which windows a lab's calendar has open at an instant, for all of its pools at once.

The same rules as calendar.py's, turned round: not every opening of a range, but the few that are running.
Whether they have a lease is standing.py's question.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from lamplighter.domain import zones
from lamplighter.domain.calendar import (
    FIRST_DATE,
    LAST_DATE,
    PlannedWindow,
    Range,
    expand_course,
)
from lamplighter.domain.course_calendar import Course
from lamplighter.domain.wall_clock import opening
from lamplighter.domain.zones import DAY, EPOCH, EPOCH_ORDINAL, SteadyDays
from lamplighter.lab import Lab
from lamplighter.lab_types import MINUTES_A_DAY
from lamplighter.lab_windows import Window

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
MINUTES = tuple(range(2 * MINUTES_A_DAY + 1))
"""One object a minute, shared by all windows."""
FIRST, LAST = FIRST_DATE.toordinal(), LAST_DATE.toordinal()
EVERY_DAY = 0b1111111


class Timetable:
    """The windows of a lab, worked out once, to be asked about any instant.

    `courses` are the calendars that windows follow, by window; one that is not there has no events.
    """

    def __init__(self, lab: Lab, courses: Mapping[str, Course] | None = None) -> None:
        self._lab = lab
        self._following: list[tuple[int, Window, Course]] = []
        self._by_zone: defaultdict[str, _Zone] = defaultdict(_Zone)
        for order, window in enumerate(lab.windows):
            if window.timed:
                self._by_zone[lab.zone_of(window)].add(_Row(lab, window, order))
            elif courses and window.name in courses:
                self._following.append((order, window, courses[window.name]))

    def open_at(self, at: datetime) -> Mapping[str, list[PlannedWindow]]:
        """The windows that are open at an instant, by pool, in the file's order; pools without one are left out."""
        seconds = (at.astimezone(UTC) - EPOCH) // SECOND
        found: defaultdict[str, list[PlannedWindow]] = defaultdict(list)
        for name, windows in self._by_zone.items():
            for one in windows.open_at(name, seconds):
                found[one.pool].append(one)
        for order, window, course in self._following:
            now = Range(seconds, seconds, seconds + 1)
            for one in expand_course(self._lab, window, order, course, now).windows:
                found[one.pool].append(one)
        if len(self._by_zone) > 1 or self._following:
            for of_pool in found.values():
                of_pool.sort(key=lambda window: (window.order, window.opening))
        return found


class _Row:
    """A window as it is asked: in minutes of its local day, with its dates as ordinals."""

    __slots__ = ("_dates", "_except", "_first", "_last", "_length", "_named", "end", "start", "weekdays")

    def __init__(self, lab: Lab, window: Window, order: int) -> None:
        self.start = window.begins
        self._length = window.length
        self.end = self.start + self._length // MINUTE
        self.weekdays = sum(1 << day for day in window.weekdays) or EVERY_DAY
        self._dates = frozenset(day.toordinal() for day in window.start_dates)
        self._except = frozenset(day.toordinal() for day in lab.exceptions_of(window))
        self._first = 0 if window.from_ is None else window.from_.toordinal()
        self._last = LAST if window.until is None else window.until.toordinal()
        self._named = (window.name, lab.pool_of(window), lab.nodes_of(window), lab.owner_of(window), order)

    def opening(self, ordinal: int, day: date, zone: str, offset: int | None) -> PlannedWindow | None:
        """The opening on a date of its weekdays, if it has that date; `offset` where its clocks stand still."""
        if (
            not self._first <= ordinal <= self._last
            or ordinal in self._except
            or (self._dates and ordinal not in self._dates)
        ):
            return None
        name, pool, nodes, owner, order = self._named
        if offset is not None:
            midnight = (ordinal - EPOCH_ORDINAL) * DAY - offset
            opens, closes = midnight + self.start * 60, midnight + self.end * 60
            return PlannedWindow(name, pool, day, nodes, opens, closes, (), owner, order)
        found = opening(day, self.start, self._length, zones.zone(zone))
        return PlannedWindow(name, pool, day, nodes, *found, owner, order)


class _Zone:
    """The windows of one zone, side by side, so that asking about most of them touches little memory."""

    def __init__(self) -> None:
        self._all = _Columns([], [], [], [])
        self._overnight = _Columns([], [], [], [])

    def add(self, row: _Row) -> None:
        self._all.add(row)
        if row.end > MINUTES_A_DAY:
            self._overnight.add(row)

    def open_at(self, zone: str, seconds: int) -> Iterator[PlannedWindow]:
        steady = zones.steady_days(zone)
        for ordinal, earliest, latest in _days(steady, seconds):
            day, offset = date.fromordinal(ordinal), steady.offset(ordinal)
            weekday = 1 << (ordinal - 1) % 7  # ordinal 1, the first of January of year 1, was a Monday
            columns = self._all if earliest < MINUTES_A_DAY else self._overnight
            for start, end, weekdays, row in zip(*columns, strict=True):
                if start <= latest and earliest < end and weekdays & weekday:
                    window = row.opening(ordinal, day, zone, offset)
                    if window is not None and window.opening <= seconds < window.closing:
                        yield window


class _Columns(NamedTuple):
    starts: list[int]
    ends: list[int]
    weekdays: list[int]
    rows: list[_Row]

    def add(self, row: _Row) -> None:
        self.starts.append(MINUTES[row.start])
        self.ends.append(MINUTES[row.end])
        self.weekdays.append(row.weekdays)
        self.rows.append(row)


def _days(steady: SteadyDays, seconds: int) -> Iterator[tuple[int, int, int]]:
    """The local dates whose windows may be open, with the earliest and latest minute of that date it may be.

    The two differ only near a change of the clocks, where an opening is then worked out to be sure.
    """
    least, most = steady.offsets_around(seconds)
    earliest, latest = (seconds + least) // 60, (seconds + most) // 60
    # A window lasts at most a day by the clock on the wall, so it started today or the day before.
    for day in range(earliest // MINUTES_A_DAY - 1, latest // MINUTES_A_DAY + 1):
        ordinal, midnight = day + EPOCH_ORDINAL, day * MINUTES_A_DAY
        if FIRST <= ordinal <= LAST:
            yield ordinal, earliest - midnight, latest - midnight
