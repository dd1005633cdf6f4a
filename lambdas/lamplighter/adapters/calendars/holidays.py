"""The whole days of a calendar of holidays: the dates of its all-day events, through recurring-ical-events.

Owns which dates those are, and the limits. text.py reads the calendar; only the command line and synthesis come here.
"""

import warnings
from collections.abc import Iterable
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

import recurring_ical_events
from icalendar import Calendar, Event, vDDDLists, vDDDTypes, vRecur

from lamplighter.adapters.calendars import recurrence
from lamplighter.adapters.calendars.event_faults import LISTED, is_all_day, listed
from lamplighter.adapters.calendars.revisions import is_cancelled, revisions
from lamplighter.adapters.calendars.text import Component, of_strangers, parsed_of_stranger, title_of
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

FIRST, LAST = date(2020, 1, 1), date(2060, 12, 31)
"""Holidays that recur are worked out between these dates: a lab has no today of its own when it is read."""
MOST_DAYS = 4000
"""Of all files of a lab too: the ledger keeps the lab in one item of 400 KB."""
MOST_STEPS = 20_000
"""The most dates of all series from their begins."""
_DAY = timedelta(days=1)
KEPT = ("RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "STATUS")


class Holidays(NamedTuple):
    """What a calendar says of whole days."""

    days: tuple[date, ...]
    """In order, each once."""
    timed: int
    """Its events with times, which are no whole days."""


def read(content: bytes) -> Holidays:
    """The whole days of a calendar; BadInput for a text that is no calendar, has none, or is beyond the limits."""
    calendar = parsed_of_stranger(content).calendar
    with of_strangers("calendar.file.events"):
        events = [one for one in revisions(calendar.walk("VEVENT")).events if not _is_called_off(one[0])]
        whole = [one for one in events if is_all_day(one[0])]
        series = {key for _, key in whole}
        timed = [one for one in events if not is_all_day(one[0])]
        days = sorted(
            _days([*whole, *(one for one in timed if one[1] in series and "RECURRENCE-ID" in one[0])])
        )
    if not whole:
        raise BadInput(reason("calendar.holidays.none"))
    return Holidays(tuple(days), len(timed))


def _is_called_off(event: Component) -> bool:
    """A cancelled date of a series stays: it is what takes the date out of the series."""
    return is_cancelled(event) and "RECURRENCE-ID" not in event


def _days(events: Iterable[tuple[Component, str]]) -> set[date]:
    made, steps = Calendar(), 0.0
    for event, key in events:
        for rule in listed(event.get("RRULE")):
            if (fault := recurrence.fault(rule)) is not None:
                raise BadInput(reason("calendar.holidays.rule", event=title_of(event), fault=fault))
            steps += _dates_of(rule, _date(event["DTSTART"].dt))
        made.add_component(_dated(event, key))
    if steps > MOST_STEPS:
        raise BadInput(reason("calendar.holidays.too-many", most=MOST_DAYS))
    days: set[date] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in recurring_ical_events.of(made).between(FIRST, LAST + _DAY):
            if is_cancelled(each):
                continue
            first, last = each["DTSTART"].dt, each["DTEND"].dt
            days.update(first + _DAY * number for number in range(min((last - first).days, MOST_DAYS + 1)))
            if len(days) > MOST_DAYS:
                raise BadInput(reason("calendar.holidays.too-many", most=MOST_DAYS))
    return {day for day in days if FIRST <= day <= LAST}


def _dates_of(rule: recurrence.Rule, begin: date) -> float:
    """The most dates of a rule until LAST."""
    ends = [_date(each) for each in recurrence.values(rule, "UNTIL")]
    most = (min([LAST, *ends]) - begin).days * recurrence.most_a_day(rule) + 1
    return max(0.0, min(most, *recurrence.numbers(rule, "COUNT", recurrence.MOST_TIMES)))


def _dated(event: Component, key: str) -> Component:
    """The event with dates in place of times, and with an end: one without lasts a day (RFC 5545, 3.6.1).

    A date of a series that has got times is no whole day any more: it leaves the series.
    """
    made = Event()
    made.add("uid", key)
    begin = event["DTSTART"].dt
    zone = begin.tzinfo if isinstance(begin, datetime) else None
    first = _date(begin)
    lasts = event["DURATION"].dt if "DURATION" in event else _DAY
    last = _date(event["DTEND"].dt, zone) if "DTEND" in event else first + lasts
    # The library reckons with days after the end, and dates end in the year 9999.
    last = min(max(last, first + _DAY), max(LAST, first) + _DAY)
    made["DTSTART"], made["DTEND"] = vDDDTypes(first), vDDDTypes(last)
    for name in KEPT:
        if name in event:
            made[name] = event[name] if zone is None else _in_zone(name, event[name], zone)
    if not is_all_day(event):
        made["STATUS"] = "CANCELLED"
    return made


def _in_zone(name: str, value: Component, zone: tzinfo) -> Component:
    """The property with dates of this zone: the last date of a rule with a zone is in UTC (RFC 5545, 3.3.10)."""
    if name == "RRULE":
        rules = [vRecur(rule) for rule in listed(value)]
        for rule in rules:
            if "UNTIL" in rule:
                rule["UNTIL"] = [_date(at, zone) for at in recurrence.values(rule, "UNTIL")]
        return rules
    if name in LISTED:
        return vDDDLists([_date(one.dt, zone) for each in listed(value) for one in each.dts])
    if name == "RECURRENCE-ID":
        return vDDDTypes(_date(value.dt, zone))
    return value


def _date(at: date, zone: tzinfo | None = None) -> date:
    """The date of a day or an instant, which is in its own zone or, where it is given, in this one."""
    if not isinstance(at, datetime):
        return at
    return (at.astimezone(zone) if zone and at.tzinfo else at).date()
