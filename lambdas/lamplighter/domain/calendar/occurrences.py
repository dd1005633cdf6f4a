"""The windows of a lab over a range of time: which open, when, and which do not happen.

Owns what becomes of each opening; hours.py knows when hours open, placement.py which windows get nodes and money.
"""

from collections.abc import Container, Iterable, Mapping
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from lamplighter.domain.calendar import early_opening
from lamplighter.domain.calendar.course import Course, CourseEvent
from lamplighter.domain.calendar.hours import Days, Hours, Opening, Range
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.leases import warm_up
from lamplighter.errors import BadInput
from lamplighter.lab.exceptions import dates_of
from lamplighter.lab.model import Lab
from lamplighter.lab.windows import Window
from lamplighter.reasons.reason import Said, reason


class Code(StrEnum):
    """Why a window is skipped; where several apply, the first."""

    EXCEPTED = "excepted"
    VANISHES = "vanishes"
    POOL_FULL = "pool-full"
    OVER_BUDGET = "over-budget"
    OUTSIDE_RESERVATION = "outside-reservation"
    """Of a deployed lab alone: what AWS says of a reservation is in the ledger."""
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


def expand(
    lab: Lab,
    start: datetime,
    end: datetime,
    courses: Mapping[str, Course] | None = None,
    warm_ups: Mapping[str, timedelta] | None = None,
) -> Expansion:
    """Every window that meets [start, end), before nodes and money are asked for.

    `courses` are the calendars that windows follow, by window; a window whose calendar is left out has no events.
    `warm_ups` are how long pools take until their GPUs are ready, as measured.
    """
    wanted = Range.between(start, end)
    expansion = Expansion([], [])
    openings = _Openings()
    for order, window in enumerate(lab.windows):
        lead = warm_up.lead(lab.pool_of(window), warm_ups) if window.ready == "by" else 0
        reach = wanted._replace(end=wanted.end + lead)
        of_window = Expansion([], [])
        course = courses.get(window.name) if courses else None
        if window.timed:
            of_window = _expand(lab, window, order, openings.of(Hours.of(lab, window), reach))
        elif course is not None:
            of_window = expand_course(lab, window, order, course, reach)
        expansion.skipped.extend(of_window.skipped)
        if lead:
            expansion.windows.extend(early_opening.planned(late, lead) for late in of_window.windows)
        else:
            expansion.windows.extend(of_window.windows)
    return expansion


class _Openings:
    """Openings of hours over a range, worked out once for all windows that have the same hours."""

    def __init__(self) -> None:
        self._days: dict[tuple[str, Range], Days] = {}
        self._openings: dict[tuple[Hours, Range], list[Opening]] = {}

    def of(self, hours: Hours, wanted: Range) -> list[Opening]:
        openings = self._openings.get((hours, wanted))
        if openings is None:
            days = self._days.setdefault((hours.zone, wanted), Days(hours.zone, wanted))
            openings = self._openings[hours, wanted] = hours.openings(days.of(hours), wanted)
        return openings


def expand_course(lab: Lab, window: Window, order: int, course: Course, wanted: Range) -> Expansion:
    """Every event of a window's course calendar that meets a range; BadInput names the window."""
    expansion = Expansion([], [])
    try:
        events = course.events(lab.zone_of(window), wanted.start, wanted.end)
    except BadInput as error:
        raise BadInput(reason("calendar.course.unusable", window=window.name, fault=error.said)) from None
    excepted = lab.exceptions_of(window)
    for event in events:
        if wanted.meets(event.opening, event.closing):
            _add_event(lab, window, order, event, excepted, expansion)
    return expansion


def _add_event(  # noqa: PLR0917
    lab: Lab, window: Window, order: int, event: CourseEvent, excepted: Container[date], expansion: Expansion
) -> None:
    """One event of a course calendar, within the window's own bounds and exceptions."""
    day, pool = event.date, lab.pool_of(window)
    if (window.from_ and day < window.from_) or (window.until and window.until < day):
        return
    if day in excepted:
        code, why = Code.EXCEPTED, _excepted(lab, window, day)
    elif event.closing <= event.opening:
        code = Code.VANISHES
        why = event.notes[0] if event.notes else reason("calendar.event.empty", event=event.title)
    elif event.wall > lab.guard.longest_lease.total_seconds():
        code = Code.TOO_LONG
        why = reason("calendar.event.too-long", event=event.title, longest=lab.guard.longest_lease)
    else:
        nodes, owner = lab.nodes_of(window), lab.owner_of(window)
        times = event.opening, event.closing, event.notes
        expansion.windows.append(
            PlannedWindow(window.name, pool, day, nodes, *times, owner, order, None, event.id)
        )
        return
    expansion.skipped.append(SkippedWindow(window.name, pool, day, code, why, order, event.id))


def _expand(lab: Lab, window: Window, order: int, openings: Iterable[Opening]) -> Expansion:
    expansion = Expansion([], [])
    name, pool = window.name, lab.pool_of(window)
    nodes, owner = lab.nodes_of(window), lab.owner_of(window)
    add = expansion.windows.append
    for day, opens, closes, notes, excepted in openings:
        if excepted:
            why = _excepted(lab, window, day)
            expansion.skipped.append(SkippedWindow(name, pool, day, Code.EXCEPTED, why, order))
        elif closes <= opens:
            expansion.skipped.append(SkippedWindow(name, pool, day, Code.VANISHES, notes[0], order))
        else:
            add(PlannedWindow(name, pool, day, nodes, opens, closes, notes, owner, order))
    return expansion


def _excepted(lab: Lab, window: Window, day: date) -> Said:
    if day in dates_of(window.except_, lab.holidays):
        return reason("calendar.excepted.window", date=day, window=window.name)
    return reason("calendar.excepted.lab", date=day)
