"""A course calendar -> its events as instants, through icalendar and recurring-ical-events.

Owns which instants an event means. The library works out recurrences and exceptions. wall_clock.py reads times as for
every window, so a clock change means the same for events and windows.
"""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import recurring_ical_events

from lamplighter.adapters.calendars.revisions import is_cancelled
from lamplighter.adapters.calendars.series import ENDS_FIRST, Series
from lamplighter.adapters.calendars.text import Component, Parsed, of_strangers, parse, title_of
from lamplighter.domain.calendar.course import CourseEvent
from lamplighter.domain.calendar.wall_clock import opening
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

_AROUND = timedelta(days=2)
_DAY = 86_400
_FIRST, _LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1990, 2250))


class CourseCalendar:
    """A calendar as `text.read` keeps it; BadInput for a text that is no calendar.

    Results are cached by text, zone and whole days: a second look, or a second window with the same calendar, costs
    nothing.
    """

    def __init__(self, text: str) -> None:
        _parsed(text)
        self._text = text

    def unmatched_exceptions(self, zone: str) -> list[Said]:
        """The dates that events leave out although they have no such date: they open on the day that was meant."""
        return [
            reason("calendar.event.exceptions", event=title_of(event), times=_times(dates))
            for event, dates in _series(self._text, zone).unmatched()
        ]

    def events(self, zone: str, start: int, end: int) -> Sequence[CourseEvent]:
        """The events that meet [start, end), by opening; dates and times without a zone are in `zone`.

        BadInput if there are too many, or if the library cannot work one out.
        """
        first, last = min(max(start, _FIRST), _LAST) // _DAY, -(-min(max(end, _FIRST), _LAST) // _DAY)
        # A day more at both ends: the id of an event depends on all events of its date, in every zone.
        found = _worked_out(self._text, zone, (first - 1) * _DAY, (last + 1) * _DAY)
        return [event for event in found if event.opening < end and event.closing >= start]


@lru_cache(maxsize=8)
def _parsed(text: str) -> Parsed:
    return parse(text)


@lru_cache(maxsize=8)
def _series(text: str, zone: str) -> Series:
    return Series(_parsed(text), zones.zone(zone))


@lru_cache(maxsize=64)
def _worked_out(text: str, zone: str, start: int, end: int) -> tuple[CourseEvent, ...]:
    begins, ends = zones.instant(start) - _AROUND, zones.instant(end) + _AROUND
    where = zones.zone(zone)
    # dateutil warns where a rule has a count as well as the end that we add.
    with of_strangers("calendar.file.events"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        series = _series(text, zone)
        components = recurring_ical_events.of(series.look(begins, ends)).between(begins, ends)
        found = [
            (_identity(each, series.recurring), _event(each, where))
            for each in components
            if not is_cancelled(each)
        ]
    met = [(key, event) for key, event in found if event.opening < end and event.closing >= start]
    return tuple(_named(sorted(met, key=lambda one: (one[1].opening, one[0]))))


def _times(dates: Sequence[date]) -> str:
    shown = [f"{at:%Y-%m-%d %H:%M}" if isinstance(at, datetime) else f"{at}" for at in dates[:3]]
    return ", ".join(shown) + (" …" if len(dates) > len(shown) else "")


def _identity(component: Component, recurring: set[str]) -> str:
    """The identity that an event keeps when it moves: its id and, in a series, the date that it replaces."""
    uid = str(component["UID"])
    if uid not in recurring or "RECURRENCE-ID" not in component:
        return uid
    return f"{uid} {component['RECURRENCE-ID'].dt.astimezone(UTC):%Y%m%dT%H%M%S}"


def courses(lab: "Lab", read: Mapping[str, str]) -> dict[str, CourseCalendar]:
    """The calendars that a lab's windows follow, by window: files from the lab, addresses from `read`.

    `read` is by window; a window whose address was never read has no calendar. BadInput for a text that is no calendar.
    """
    made: dict[str, CourseCalendar] = {}
    texts = lab.calendars or {}
    for window in lab.windows:
        text = read.get(window.name) if window.online else texts.get(window.calendar or "")
        if text is not None:
            made[window.name] = CourseCalendar(text)
    return made


def _event(component: Component, where: ZoneInfo) -> CourseEvent:
    start, end = _written(component, "DTSTART"), _written(component, "DTEND")
    zone = start.tzinfo
    notes: tuple[Said, ...] = ()
    if isinstance(zone, ZoneInfo) and zone.key in zones.names() and _key(end) == zone.key:
        wall = end.replace(tzinfo=None) - start.replace(tzinfo=None)
        found = opening(start.date(), start.hour * 60 + start.minute, wall, zone)
        opens, closes, notes = found.opens, found.closes, found.notes
    else:
        opens, closes = int(start.timestamp()), int(end.timestamp())
        wall = timedelta(seconds=closes - opens)
    title = title_of(component)
    if ENDS_FIRST in component:
        closes, notes = opens, (reason("calendar.event.ends-first", event=title),)
    day = zones.instant(opens).astimezone(where).date()
    return CourseEvent("", title, day, opens, closes, int(wall.total_seconds()), notes)


def _written(component: Component, key: str) -> datetime:
    """A time to the minute, with its zone."""
    at: datetime = component[key].dt
    return at.replace(second=0, microsecond=0)


def _key(at: datetime) -> str | None:
    return at.tzinfo.key if isinstance(at.tzinfo, ZoneInfo) else None


def _named(found: Sequence[tuple[str, CourseEvent]]) -> list[CourseEvent]:
    """Each event with its four characters; two of one date never have the same."""
    named: list[CourseEvent] = []
    taken: set[tuple[object, str]] = set()
    for key, event in found:
        digest = hashlib.sha256(key.encode()).hexdigest()
        short = next(
            part
            for part in (digest[at : at + 4] for at in range(len(digest)))
            if (event.date, part) not in taken
        )
        taken.add((event.date, short))
        named.append(event._replace(id=short))
    return named
