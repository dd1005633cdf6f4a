"""A course calendar -> its events as instants, through icalendar and recurring-ical-events.

Owns which instants an event means: recurrence and exceptions are the library's, the clock on the wall is
read as for every window (wall_clock.py), so that a clock change means the same wherever a time was written.
"""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from lamplighter.adapters.calendars.rules import interval, later, most_a_day
from lamplighter.adapters.calendars.text import Component, is_cancelled, listed, parse, title_of
from lamplighter.domain import zones
from lamplighter.domain.course_calendar import Event
from lamplighter.domain.wall_clock import opening
from lamplighter.errors import BadInput

if TYPE_CHECKING:
    from lamplighter.lab import Lab

MOST_AT_ONCE = 20_000
"""Openings that may be worked out in one answer."""
MOST_STEPS = 200_000
"""Days walked through from the begin of every series, where that cannot be moved nearer."""
_AROUND = timedelta(days=2)
_DAY = 86_400
_FIRST, _LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1990, 2250))


class CourseCalendar:
    """A calendar as `text.read` keeps it; BadInput for a text that is none.

    What was worked out is kept by what stands in it, whole days at a time: who looks again, and whoever else follows
    the same calendar, pays nothing.
    """

    def __init__(self, text: str) -> None:
        parse(text)
        self._text = text

    def events(self, zone: str, start: int, end: int) -> Sequence[Event]:
        """The events that meet [start, end), by opening; dates and times without a zone are in `zone`.

        BadInput where there are too many, or the library cannot make sense of one.
        """
        first, last = min(max(start, _FIRST), _LAST) // _DAY, -(-min(max(end, _FIRST), _LAST) // _DAY)
        # A day more at both ends: what an event is called depends on all of its date, wherever the day begins.
        found = _worked_out(self._text, zone, (first - 1) * _DAY, (last + 1) * _DAY)
        return [event for event in found if event.opening < end and event.closing >= start]


@lru_cache(maxsize=64)
def _worked_out(text: str, zone: str, start: int, end: int) -> tuple[Event, ...]:
    return tuple(_Series(text).events(zone, start, end))


class _Series:
    """A calendar's events and series, for one look."""

    def __init__(self, text: str) -> None:
        self._calendar = parse(text)
        events: list[Component] = list(self._calendar.events)
        self._rules = [(event, rule) for event in events for rule in listed(event.get("RRULE"))]
        self._untils = [rule.get("UNTIL") for _, rule in self._rules]
        self._begins = [_begin(event) for event, _ in self._rules]
        self._series = {
            str(event["UID"])
            for event in events
            if "RRULE" in event or "RDATE" in event or "RECURRENCE-ID" in event
        }

    def events(self, zone: str, start: int, end: int) -> Sequence[Event]:
        import recurring_ical_events  # noqa: PLC0415 -- only those who follow a calendar pay for it

        begins, ends = zones.instant(start), zones.instant(end)
        begins, ends = begins - _AROUND, ends + _AROUND
        self._limit(begins, ends)
        where = zones.zone(zone)
        try:
            with warnings.catch_warnings():
                # A count beside our end of looking: dateutil keeps both, and would rather not.
                warnings.simplefilter("ignore", DeprecationWarning)
                components = recurring_ical_events.of(self._calendar).between(begins, ends)
            found = [
                (self._identity(each), _event(each, where)) for each in components if not is_cancelled(each)
            ]
        except Exception as error:  # noqa: BLE001 -- the library, fed by strangers
            said = " ".join(str(error).split())[:120]
            raise BadInput(f"has events that cannot be worked out ({said}), export it anew") from None
        met = [(key, event) for key, event in found if event.opening < end and event.closing >= start]
        return _named(sorted(met, key=lambda one: (one[1].opening, one[0])))

    def _limit(self, begins: datetime, ends: datetime) -> None:
        """Begin and end every series where somebody looks: what lies before and behind costs nothing."""
        most = steps = 0.0
        for (event, rule), until, first in zip(self._rules, self._untils, self._begins, strict=True):
            unseen = _unseen(event, first, until, begins)
            start = _begun_later(event, first, later(rule, first["DTSTART"], unseen))
            rule["UNTIL"] = [_until(start, listed(until), ends)]
            days = (ends - max(begins, _aware(start))).days
            most += max(0.0, days * most_a_day(rule))
            steps += max(0.0, (ends - _aware(start)).days / interval(rule))
        if most > MOST_AT_ONCE:
            raise BadInput(f"has more than {MOST_AT_ONCE} events in this time, export a smaller calendar")
        if steps > MOST_STEPS:
            raise BadInput("has too many series that began long ago, export those that still run")

    def _identity(self, component: Component) -> str:
        """What an event keeps wherever it is moved: its id and, in a series, the date it stands for."""
        uid = str(component["UID"])
        if uid not in self._series or "RECURRENCE-ID" not in component:
            return uid
        return f"{uid} {_aware(component['RECURRENCE-ID'].dt):%Y%m%dT%H%M%S}"


def courses(lab: "Lab", read: Mapping[str, str]) -> dict[str, CourseCalendar]:
    """The calendars that a lab's windows follow, by window: files from the lab, addresses as they were `read`.

    `read` is by window. A window whose calendar was never read has none. BadInput for a text that is none.
    """
    made: dict[str, CourseCalendar] = {}
    texts = lab.calendars or {}
    for window in lab.windows:
        text = read.get(window.name) if window.online else texts.get(window.calendar or "")
        if text is not None:
            made[window.name] = CourseCalendar(text)
    return made


def _event(component: Component, where: ZoneInfo) -> Event:
    start, end = _written(component, "DTSTART", where), _written(component, "DTEND", where)
    zone = start.tzinfo
    if isinstance(zone, ZoneInfo) and zone.key in zones.names() and _key(end) == zone.key:
        wall = end.replace(tzinfo=None) - start.replace(tzinfo=None)
        found = opening(start.date(), start.hour * 60 + start.minute, wall, zone)
        opens, closes, notes = found.opens, found.closes, found.notes
    else:
        opens, closes, notes = int(start.timestamp()), int(end.timestamp()), ()
        wall = timedelta(seconds=closes - opens)
    day = zones.instant(opens).astimezone(where).date()
    return Event("", title_of(component), day, opens, closes, int(wall.total_seconds()), notes)


def _written(component: Component, key: str, where: ZoneInfo) -> datetime:
    """A time to the minute, with its zone; one without is in the window's."""
    at: datetime = component[key].dt
    if not isinstance(at, datetime):
        at = datetime.combine(at, time())
    at = at.replace(second=0, microsecond=0)
    return at.replace(tzinfo=where) if at.tzinfo is None else at


def _key(at: datetime) -> str | None:
    return at.tzinfo.key if isinstance(at.tzinfo, ZoneInfo) else None


def _aware(at: Any) -> datetime:  # noqa: ANN401 -- a date or a datetime, with a zone or without
    whole: datetime = at if isinstance(at, datetime) else datetime.combine(at, time())
    return (whole.replace(tzinfo=UTC) if whole.tzinfo is None else whole).astimezone(UTC)


def _until(start: datetime, said: Sequence[Any], ends: datetime) -> datetime:
    """The end of a series, no later than anybody looks; a date alone means all of that day."""
    zone = start.tzinfo
    latest = ends if zone is not None else ends.replace(tzinfo=None)
    if not said:
        return latest
    until = said[0]
    if not isinstance(until, datetime):
        until = datetime.combine(until, time(23, 59, 59), zone)
    if zone is None:
        return min(until.replace(tzinfo=None), latest)
    aware: datetime = until if until.tzinfo is not None else until.replace(tzinfo=zone)
    return min(aware.astimezone(UTC), latest)


def _begin(event: Component) -> dict[str, Any]:
    """When an event begins and ends by itself, as it was written."""
    return {name: event[name].dt for name in ("DTSTART", "DTEND") if name in event}


def _unseen(event: Component, first: Mapping[str, Any], until: Any, begins: datetime) -> int:  # noqa: ANN401
    """Days of a series that are over before anybody looks, its own end and the length of an event left out."""
    start = _aware(first["DTSTART"])
    length = _aware(first["DTEND"]) - start if "DTEND" in first else timedelta()
    if "DURATION" in event:
        length = max(length, event["DURATION"].dt)
    ends = [_aware(each) for each in listed(until)]
    return (min([begins, *ends]) - length - start).days


def _begun_later(event: Component, first: Mapping[str, Any], days: int) -> Any:  # noqa: ANN401 -- as it was written
    """Let a series begin so many days later; gives its begin."""
    for name, at in first.items():
        event[name].dt = at + timedelta(days=days)
    return event["DTSTART"].dt


def _named(found: Sequence[tuple[str, Event]]) -> list[Event]:
    """Each event with its four characters; two of one date never have the same."""
    named: list[Event] = []
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
