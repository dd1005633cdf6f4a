"""Why an event of a course calendar cannot open a pool, as a reason; None where it can."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias

from lamplighter.adapters.calendars import recurrence
from lamplighter.reasons.reason import Reason, reason

Component: TypeAlias = Any
MOST_DATES = 1000
"""EXDATE and RDATE of one event."""
FIRST_YEAR, LAST_YEAR = 1990, 2200
LONGEST_ZONE = 80
SINGLE = ("DTSTART", "DTEND", "RECURRENCE-ID")
LISTED = ("EXDATE", "RDATE")
UNDEFINED = reason("calendar.zone.undefined")


def fault(event: Component, unread_zones: Mapping[str, Reason]) -> Reason | None:
    """Why an event cannot open a pool; `unread_zones` says why a zone that the calendar defines is not known."""
    try:
        return (
            _start_fault(event)
            or _zone_fault(event, unread_zones)
            or _end_fault(event)
            or _dates_fault(event)
            or _rules_fault(event)
        )
    except Exception:  # noqa: BLE001 -- every kind of broken value has its own error
        return reason("calendar.event.unreadable")


def is_all_day(event: Component) -> bool:
    """Whether an event has dates and no times."""
    # Exchange writes some all-day events from midnight to midnight ([MS-OXCICAL] 2.1.3.1.1.20.28).
    whole = str(event.get("X-MICROSOFT-CDO-ALLDAYEVENT") or "").upper() == "TRUE"
    return whole or not isinstance(event["DTSTART"].dt, datetime)


def has_no_time(event: Component) -> bool:
    """Whether a single event with a time ends as it begins: platforms for courses write due dates so."""
    if any(key in event for key in ("RRULE", "RDATE", "RECURRENCE-ID", "DURATION")):
        return False
    try:
        start, end = (getattr(event.get(key), "dt", None) for key in ("DTSTART", "DTEND"))
        return isinstance(start, datetime) and (end is None or bool(end == start))
    except Exception:  # noqa: BLE001 -- every kind of broken value has its own error
        return False


def listed(value: Any) -> list[Any]:  # noqa: ANN401 -- icalendar gives one, or a list of them
    """A property that may be written several times."""
    return [] if value is None else value if isinstance(value, list) else [value]


def _start_fault(event: Component) -> Reason | None:
    start = event["DTSTART"].dt
    if is_all_day(event):
        return reason("calendar.event.all-day")
    if not FIRST_YEAR <= start.year <= LAST_YEAR:
        return reason("calendar.event.year", year=start.year, first=FIRST_YEAR, last=LAST_YEAR)
    return None


def _zone_fault(event: Component, unread_zones: Mapping[str, Reason]) -> Reason | None:
    """icalendar gives a time in an unknown zone without a zone, so its instant is not known."""
    for name in (*SINGLE, *LISTED):
        for one in listed(event.get(name)):
            zone = one.params.get("TZID")
            if zone and any(_is_floating(each.dt) for each in one.dts):
                why = unread_zones.get(str(zone), UNDEFINED)
                return reason("calendar.event.zone", zone=str(zone)[:LONGEST_ZONE], why=why)
    return None


def _is_floating(at: Any) -> bool:  # noqa: ANN401 -- a date, a time, or a period of any kind
    first = at[0] if isinstance(at, tuple) else at
    return isinstance(first, datetime) and first.tzinfo is None


def _end_fault(event: Component) -> Reason | None:
    if "DTEND" in event and not isinstance(event["DTEND"].dt, datetime):
        return reason("calendar.event.ends-on-a-day")
    length = event["DURATION"].dt if "DURATION" in event else timedelta()
    end = event["DTEND"].dt if "DTEND" in event else event["DTSTART"].dt + length
    if end.year > LAST_YEAR:  # a later start of the event and so long a time might be no date
        return reason("calendar.event.unreadable")
    if "RECURRENCE-ID" in event and not isinstance(event["RECURRENCE-ID"].dt, date):
        return reason("calendar.event.unreadable")
    if "RECURRENCE-ID" in event and event["RECURRENCE-ID"].params.get("RANGE", "").upper() == "THISANDPRIOR":
        return reason("calendar.event.this-and-prior")
    return None


def _dates_fault(event: Component) -> Reason | None:
    """Every other time has to be readable too."""
    excluded, added = ([one.dt for each in listed(event.get(name)) for one in each.dts] for name in LISTED)
    single = [event[key].dt for key in ("DTEND", "DURATION", "RECURRENCE-ID") if key in event]
    if len(single) + len(excluded) + len(added) > MOST_DATES:
        return reason("calendar.event.too-many-dates", most=MOST_DATES)
    if not all(isinstance(each, date) for each in excluded):
        return reason("calendar.event.exdate")
    if "EXRULE" in event:
        return reason("calendar.event.exrule")
    if not all(_is_time(each[0] if isinstance(each, tuple) else each) for each in added):
        return reason("calendar.event.rdate")
    if any(_ends_first(*each) for each in added if isinstance(each, tuple)):
        return reason("calendar.event.period")
    return None


def _is_time(at: Any) -> bool:  # noqa: ANN401 -- anything that a stranger wrote
    return isinstance(at, datetime) and at.year <= LAST_YEAR


def _ends_first(begins: datetime, ends: Any) -> bool:  # noqa: ANN401 -- an instant or a duration
    return bool(begins + ends < begins if not isinstance(ends, datetime) else ends < begins)


def _rules_fault(event: Component) -> Reason | None:
    begin = event["DTSTART"].dt
    plain = (recurrence.plain(rule, begin) for rule in listed(event.get("RRULE")))
    return next(filter(None, map(recurrence.fault, plain)), None)
