"""From the windows of a lab to instants: which windows there are, when each opens and closes in UTC.

Owns wall clock, zones, gaps and overlaps, exceptions and vanishing windows. Whether a window gets
its nodes and its money is for admission.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from lamplighter.domain.calendar import early_opening
from lamplighter.domain.calendar.course import Course, CourseEvent
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.calendar.wall_clock import Opening, opening
from lamplighter.domain.leases import warm_up
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.lab.windows import Window
from lamplighter.reasons.reason import Said
from lamplighter.values import zones
from lamplighter.values.counted import write_duration

# A window lasts at most a day by the clock on the wall; a change of the clocks has moved it by a day at most.
DAYS_BEFORE, DAYS_AFTER = 3, 2
# Dates at whose edges every instant can still be named in every zone.
FIRST_DATE, LAST_DATE = date(2, 1, 1), date(9998, 12, 31)


class Code(StrEnum):
    """Why a window is skipped; where several apply, the first."""

    EXCEPTED = "excepted"
    VANISHES = "vanishes"
    POOL_FULL = "pool-full"
    OVER_BUDGET = "over-budget"
    TOO_LONG = "too-long"
    """Of a course calendar alone: windows of the lab that are too long are refused with the lab."""


class SkippedWindow(NamedTuple):
    """An opening that does not happen, and why."""

    window: str
    pool: str
    date: date
    code: Code
    reason: Said
    order: int
    event: str = ""


class Expansion(NamedTuple):
    """What a lab's windows are in a range: those that ask to open, in the file's order, and the rest."""

    windows: list[PlannedWindow]
    skipped: list[SkippedWindow]


class Range(NamedTuple):
    """A half-open range of time, in seconds since 1970."""

    start: int
    """Seconds, rounded down: what closes later than this meets the range."""
    first: int
    """Seconds, rounded up: the first second inside the range."""
    end: int
    """Seconds, rounded up: what opens earlier than this meets the range."""

    @classmethod
    def between(cls, start: datetime, end: datetime) -> "Range":
        """The range between two instants."""
        return cls(_seconds_down(start), _seconds_up(start), _seconds_up(end))

    def meets(self, opening: int, closing: int) -> bool:
        """Whether an opening, an empty one included, belongs to the range."""
        if closing <= opening:
            return self.first <= opening < self.end
        return opening < self.end and closing > self.start


def expand(
    lab: Lab,
    start: datetime,
    end: datetime,
    courses: Mapping[str, Course] | None = None,
    warm_ups: Mapping[str, timedelta] | None = None,
) -> Expansion:
    """Every window that meets [start, end), before anyone asks for nodes and money.

    `courses` are the calendars that windows follow, by window; one that is not there has no events.
    `warm_ups` are how long pools take until their GPUs are ready, as measured.
    """
    wanted = Range.between(start, end)
    expansion = Expansion([], [])
    for order, window in enumerate(lab.windows):
        lead = warm_up.lead(lab.pool_of(window), warm_ups) if window.ready == "by" else 0
        reach = Range(wanted.start, wanted.first, wanted.end + lead)
        found = Expansion([], expansion.skipped)
        course = courses.get(window.name) if courses else None
        if window.timed:
            _expand(lab, window, order, reach, found)
        elif course is not None:
            events = expand_course(lab, window, order, course, reach)
            found.windows.extend(events.windows)
            found.skipped.extend(events.skipped)
        if lead:
            zone = lab.zone_of(window)
            expansion.windows.extend(early_opening.planned(late, lead, zone) for late in found.windows)
        else:
            expansion.windows.extend(found.windows)
    return expansion


def expand_course(lab: Lab, window: Window, order: int, course: Course, wanted: Range) -> Expansion:
    """Every event of a window's course calendar that meets a range; BadInput names the window."""
    expansion = Expansion([], [])
    try:
        events = course.events(lab.zone_of(window), wanted.start, wanted.end)
    except BadInput as error:
        raise BadInput(f"the calendar of window {window.name} {error}") from None
    for event in events:
        if wanted.meets(event.opening, event.closing):
            _add_event(lab, window, order, event, expansion)
    return expansion


def _add_event(lab: Lab, window: Window, order: int, event: CourseEvent, expansion: Expansion) -> None:
    """One event of a course calendar, within the window's own bounds and exceptions."""
    day, pool = event.date, lab.pool_of(window)
    if (window.from_ and day < window.from_) or (window.until and window.until < day):
        return
    if day in lab.exceptions_of(window):
        code, reason = Code.EXCEPTED, _excepted(window, day)
    elif event.closing <= event.opening:
        code, reason = Code.VANISHES, event.notes[0] if event.notes else f"{event.title} ends as it begins"
    elif event.wall > lab.guard.longest_lease.total_seconds():
        most = write_duration(lab.guard.longest_lease)
        code, reason = Code.TOO_LONG, f"{event.title} is longer than the {most} that longest_lease allows"
    else:
        nodes, owner = lab.nodes_of(window), lab.owner_of(window)
        times = event.opening, event.closing, event.notes
        expansion.windows.append(
            PlannedWindow(window.name, pool, day, nodes, *times, owner, order, None, event.id)
        )
        return
    expansion.skipped.append(SkippedWindow(window.name, pool, day, code, reason, order, event.id))


def _expand(lab: Lab, window: Window, order: int, wanted: Range, expansion: Expansion) -> None:
    pool, nodes, owner = lab.pool_of(window), lab.nodes_of(window), lab.owner_of(window)
    where = lab.zone_of(window)
    excepted = {day.toordinal() for day in lab.exceptions_of(window)}
    begins = window.begins * 60
    lasts = int(window.length.total_seconds())
    steady = zones.steady_days(where)
    add, name = expansion.windows.append, window.name
    for ordinal in _ordinals(window, wanted):
        offset = steady.offset(ordinal)
        if offset is not None and ordinal not in excepted:
            opens = (ordinal - zones.EPOCH_ORDINAL) * zones.DAY + begins - offset
            if opens < wanted.end and opens + lasts > wanted.start:
                day = date.fromordinal(ordinal)
                add(PlannedWindow(name, pool, day, nodes, opens, opens + lasts, (), owner, order))
            continue
        day = date.fromordinal(ordinal)
        found = opening(day, window.begins, window.length, zones.zone(where))
        if not wanted.meets(found.opens, found.closes):
            continue
        if ordinal in excepted or found.closes <= found.opens:
            expansion.skipped.append(_skipped(lab, window, order, day, found))
        else:
            add(PlannedWindow(name, pool, day, nodes, found.opens, found.closes, found.notes, owner, order))


def _ordinals(window: Window, wanted: Range) -> Iterator[int]:
    """The start dates that may matter, as ordinals, in order."""
    first = max(wanted.start // zones.DAY + zones.EPOCH_ORDINAL - DAYS_BEFORE, FIRST_DATE.toordinal())
    last = min(wanted.end // zones.DAY + zones.EPOCH_ORDINAL + DAYS_AFTER, LAST_DATE.toordinal())
    if window.from_ is not None:
        first = max(first, window.from_.toordinal())
    if window.until is not None:
        last = min(last, window.until.toordinal())
    if window.days is None:
        yield from (day for day in map(date.toordinal, window.start_dates) if first <= day <= last)
        return
    weekdays = window.weekdays
    # Ordinal 1, the first of January of year 1, was a Monday.
    yield from (ordinal for ordinal in range(first, last + 1) if (ordinal - 1) % 7 in weekdays)


def _skipped(lab: Lab, window: Window, order: int, day: date, found: Opening) -> SkippedWindow:
    if day in lab.exceptions_of(window):
        code, reason = Code.EXCEPTED, _excepted(window, day)
    else:
        code, reason = Code.VANISHES, found.notes[0]
    return SkippedWindow(window.name, lab.pool_of(window), day, code, reason, order)


def _excepted(window: Window, day: date) -> str:
    whose = f"the exceptions of {window.name}" if day in window.except_ else "the lab's exceptions"
    return f"{day} is among {whose}"


def _seconds_down(at: datetime) -> int:
    return (at.astimezone(UTC) - zones.EPOCH) // timedelta(seconds=1)


def _seconds_up(at: datetime) -> int:
    return -((zones.EPOCH - at.astimezone(UTC)) // timedelta(seconds=1))
