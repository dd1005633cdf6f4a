"""The events of a calendar, as text.py keeps it, with all their times in one zone each, ready for the library.

Owns the zone of times without one, and from which date on a series is worked out. The library works out its dates.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from icalendar import Calendar, Event, vDDDLists, vDDDTypes

from lamplighter.adapters.calendars.event_faults import listed
from lamplighter.adapters.calendars.recurrence import (
    WEEKDAYS,
    Rule,
    interval,
    later,
    most_a_day,
    numbers,
    values,
)
from lamplighter.adapters.calendars.text import Component, Parsed
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

MOST_AT_ONCE = 20_000
"""The most openings of one answer."""
MOST_STEPS = 200_000
"""The most steps from the begins of all series, where those cannot move nearer."""
ENDS_FIRST = "X-ENDS-FIRST"
"""Marks an event that ends before it begins in the calendar."""


class Timed(NamedTuple):
    """An event whose times all have a zone."""

    event: Component
    begins: datetime
    lasts: timedelta
    """By the wall clock of its zone; never negative."""
    rules: Sequence[Component]


class Series:
    """The events of a calendar; times without a zone are in the calendar's own zone, or else in `where`."""

    def __init__(self, parsed: Parsed, where: tzinfo) -> None:
        events: list[Component] = list(parsed.calendar.events)
        floating = parsed.zone or where
        zones = _own_zones(events, parsed.zone)
        masters = {
            str(event["UID"]): _begin(event, floating, zones[str(event["UID"])])
            for event in events
            if "RECURRENCE-ID" not in event
        }
        self._timed = [
            _timed(event, masters.get(str(event["UID"])), floating, zones[str(event["UID"])])
            for event in events
        ]
        self.recurring = {str(event["UID"]) for event in events if _recurs(event) or "RECURRENCE-ID" in event}
        self._moved = max(map(_moved, self._timed), default=timedelta())

    def unmatched(self) -> Iterator[tuple[Component, list[datetime | date]]]:
        """The events that leave out dates (EXDATE) of which their rule names none, with those dates."""
        for each in self._timed:
            if each.rules and "RDATE" not in each.event:
                dates = [one.dt for named in listed(each.event.get("EXDATE")) for one in named.dts]
                wrong = [at for at in dates if not _may_be(each, at)]
                if wrong:
                    yield each.event, wrong

    def look(self, begins: datetime, ends: datetime) -> Component:
        """The events for [begins, ends): series begin and end there, so dates outside cost nothing.

        BadInput if it would cost too much.
        """
        begins, ends = begins - self._moved, ends + self._moved
        made = Calendar()
        most = steps = 0.0
        for each in self._timed:
            event, start, rules = _for_look(each, begins, ends)
            made.add_component(event)
            for rule in rules:
                # An event that began before the range may last into it.
                most += max(0.0, (ends - max(begins - each.lasts, start)).days * most_a_day(rule))
                steps += max(0.0, (ends - start).days / interval(rule))
        if most > MOST_AT_ONCE:
            raise BadInput(reason("calendar.file.too-many-at-once", most=MOST_AT_ONCE))
        if steps > MOST_STEPS:
            raise BadInput(reason("calendar.file.old-series"))
        return made


def _may_be(each: Timed, at: datetime | date) -> bool:
    """Whether a series may have this date: at its time, and on a day of the week of a weekly rule."""
    at_its_time = not isinstance(at, datetime) or at.time() == each.begins.time()
    weekly = all("WEEKLY" in map(str.upper, values(rule, "FREQ")) for rule in each.rules)
    days = {str(day).upper()[-2:] for rule in each.rules for day in values(rule, "BYDAY")}
    return at_its_time and (
        not weekly or WEEKDAYS[at.weekday()] in (days or {WEEKDAYS[each.begins.weekday()]})
    )


def _moved(each: Timed) -> timedelta:
    """How far a replaced date moves all later dates of its series."""
    named = each.event.get("RECURRENCE-ID")
    return abs(each.begins - named.dt) if named is not None and named.params.get("RANGE") else timedelta()


def _recurs(event: Component) -> bool:
    return "RRULE" in event or "RDATE" in event


def _own_zones(events: Sequence[Component], own: tzinfo | None) -> dict[str, tzinfo | None]:
    """By id, the calendar's own zone; None if a series in UTC names a date that it has only in UTC."""
    found = {str(event["UID"]): own for event in events}
    begins = {str(event["UID"]): event["DTSTART"].dt for event in events if _recurs(event)}
    for event in events:
        uid = str(event["UID"])
        begin = begins.get(uid)
        if own is None or not isinstance(begin, datetime) or begin.tzname() != "UTC":
            continue
        for name in ("EXDATE", "RECURRENCE-ID"):
            for at in (one.dt for each in listed(event.get(name)) for one in each.dts):
                in_utc = isinstance(at, datetime) and at.tzname() == "UTC" and at.time() == begin.time()
                if in_utc and at.astimezone(own).time() != begin.astimezone(own).time():
                    found[uid] = None
    return found


def _begin(event: Component, floating: tzinfo, own: tzinfo | None) -> datetime:
    """When an event begins, in the zone in which it recurs."""
    begin = _zoned(_whole(event["DTSTART"].dt), floating)
    if own is None or not _recurs(event) or begin.tzname() != "UTC":
        return begin
    # A series in UTC is meant in the calendar's zone, unless its rule names the days of UTC.
    meant = begin.astimezone(own)
    every = listed(event.get("RRULE"))
    in_utc = all(_names(rule, begin) for rule in every) and not all(_names(rule, meant) for rule in every)
    return begin if in_utc else meant


def _names(rule: Rule, begin: datetime) -> bool:
    """Whether a rule names the day on which its series begins."""
    days = {str(day).upper()[-2:] for day in values(rule, "BYDAY")}
    return (
        (not days or WEEKDAYS[begin.weekday()] in days)
        and begin.day in numbers(rule, "BYMONTHDAY", begin.day)
        and begin.month in numbers(rule, "BYMONTH", begin.month)
    )


def _timed(event: Component, master: datetime | None, floating: tzinfo, own: tzinfo | None) -> Timed:
    """The event with every time in the zone of its series; without one, in that in which it begins."""
    begin = _begin(event, floating, own)
    home = begin if master is None else master
    zone: tzinfo = home.tzinfo or UTC
    if getattr(event["DTSTART"].dt, "tzinfo", None) is None:
        begin = begin.replace(tzinfo=zone)
    end = _end(event, begin)
    if end.tzinfo is not begin.tzinfo:
        # Both are instants if nothing recurs; a series lasts as long by the wall clock as on its first day.
        begin = begin if _recurs(event) else begin.astimezone(UTC)
        end = end.astimezone(begin.tzinfo)
    made = _copied(event)
    lasts = end - begin
    if lasts < timedelta():
        made.add(ENDS_FIRST, "TRUE")
        lasts = timedelta()
    for name in ("RDATE", "EXDATE"):
        _put_all(made, name, [_date_in(one.dt, zone) for each in listed(event.get(name)) for one in each.dts])
    if "RECURRENCE-ID" in event:
        named = event["RECURRENCE-ID"]
        at = named.dt if isinstance(named.dt, datetime) else datetime.combine(named.dt, home.time())
        _put(made, "RECURRENCE-ID", _in(at, zone), {k: v for k, v in named.params.items() if k == "RANGE"})
    return Timed(made, begin, lasts, listed(event.get("RRULE")))


def _end(event: Component, begin: datetime) -> datetime:
    if "DTEND" in event:
        return _zoned(_whole(event["DTEND"].dt), begin.tzinfo or UTC)
    duration: timedelta = event["DURATION"].dt if "DURATION" in event else timedelta()
    return begin + duration


def _for_look(each: Timed, begins: datetime, ends: datetime) -> tuple[Component, datetime, list[Component]]:
    """An event for one range, when it begins for that, and its rules."""
    event = _copied(each.event)
    start, rules = each.begins, []
    for rule in each.rules:
        rules.append(made := rule.copy())
        until = _until(listed(rule.get("UNTIL")), each.begins.tzinfo or UTC)
        if len(each.rules) == 1:
            unseen = (min([begins, *until]) - each.lasts - each.begins).days
            start = each.begins + timedelta(days=later(rule, each.begins, unseen))
        made["UNTIL"] = [min([ends, *until])]
    if rules:
        event["RRULE"] = rules
    _put(event, "DTSTART", start)
    _put(event, "DTEND", start + each.lasts)
    return event, start.astimezone(UTC), rules


def _until(said: Sequence[Any], zone: tzinfo) -> list[datetime]:
    """The end of a series in UTC, if it has one; a date alone means all of that day."""
    return [
        _in(
            each if isinstance(each, datetime) else datetime.combine(each, time(23, 59, 59)), zone
        ).astimezone(UTC)
        for each in said[:1]
    ]


def _date_in(at: Any, zone: tzinfo) -> Any:  # noqa: ANN401 -- a date, an instant, or a period
    if isinstance(at, tuple):
        first, last = at
        return _in(first, zone), _in(last, zone) if isinstance(last, datetime) else last
    return _in(at, zone) if isinstance(at, datetime) else at


def _in(at: datetime, zone: tzinfo) -> datetime:
    """A time in a zone: converted if it has a zone, else read in it."""
    return at.replace(tzinfo=zone) if at.tzinfo is None else at.astimezone(zone)


def _zoned(at: datetime, zone: tzinfo) -> datetime:
    return at.replace(tzinfo=zone) if at.tzinfo is None else at


def _whole(at: Any) -> datetime:  # noqa: ANN401 -- of a cancelled event it may be a date
    return at if isinstance(at, datetime) else datetime.combine(at, time())


def _copied(event: Component) -> Component:
    made = Event()
    for name, value in event.items():
        made[name] = value
    made.pop("DURATION", None)
    return made


def _put(event: Component, name: str, at: Any, params: Mapping[str, str] | None = None) -> None:  # noqa: ANN401

    event[name] = vDDDTypes(at, params=dict(params or {}))


def _put_all(event: Component, name: str, ats: Sequence[Any]) -> None:
    event.pop(name, None)
    if ats:
        event[name] = vDDDLists(list(ats))
