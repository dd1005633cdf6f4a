"""Why an event of a course calendar can be no window, in words that follow its title; None where it can be one."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, TypeAlias

from lamplighter.adapters.calendars import rules

Component: TypeAlias = Any
MOST_DATES = 1000
"""EXDATE and RDATE of one event."""
FIRST_YEAR, LAST_YEAR = 1990, 2200
LONGEST_ZONE = 80
SINGLE = ("DTSTART", "DTEND", "RECURRENCE-ID")
LISTED = ("EXDATE", "RDATE")
UNDEFINED = "which the calendar does not define"


def fault(event: Component, unread_zones: Mapping[str, str]) -> str | None:
    """Why an event can be no window; `unread_zones` says why a zone that the calendar defines is not known."""
    try:
        return (
            _start_fault(event)
            or _zone_fault(event, unread_zones)
            or _end_fault(event)
            or _dates_fault(event)
            or _rules_fault(event)
        )
    except Exception:  # noqa: BLE001 -- a broken value of any kind, each with an error of its own
        return "has a time that cannot be read"


def listed(value: Any) -> list[Any]:  # noqa: ANN401 -- icalendar gives one, or a list of them
    """A property that may be written several times."""
    return [] if value is None else value if isinstance(value, list) else [value]


def _start_fault(event: Component) -> str | None:
    start = event["DTSTART"].dt
    # Exchange writes some all-day events from midnight to midnight ([MS-OXCICAL] 2.1.3.1.1.20.28).
    whole = str(event.get("X-MICROSOFT-CDO-ALLDAYEVENT") or "").upper() == "TRUE"
    if whole or not isinstance(start, datetime):
        return "lasts all day; only events with times open a pool"
    if not FIRST_YEAR <= start.year <= LAST_YEAR:
        return f"begins in {start.year}; only years from {FIRST_YEAR} to {LAST_YEAR} are read"
    return None


def _zone_fault(event: Component, unread_zones: Mapping[str, str]) -> str | None:
    """A time in a zone that nobody knows is no time: icalendar gives it without a zone."""
    for name in (*SINGLE, *LISTED):
        for one in listed(event.get(name)):
            zone = one.params.get("TZID")
            if zone and any(_is_floating(each.dt) for each in one.dts):
                shown = str(zone)[:LONGEST_ZONE]
                return f"is in the zone {shown}, {unread_zones.get(str(zone), UNDEFINED)}"
    return None


def _is_floating(at: Any) -> bool:  # noqa: ANN401 -- a date, a time, or a period of any kind
    first = at[0] if isinstance(at, tuple) else at
    return isinstance(first, datetime) and first.tzinfo is None


def _end_fault(event: Component) -> str | None:
    if "DTEND" in event and not isinstance(event["DTEND"].dt, datetime):
        return "begins at a time and ends on a day"
    if "RECURRENCE-ID" in event and not isinstance(event["RECURRENCE-ID"].dt, date):
        return "has a time that cannot be read"
    if "RECURRENCE-ID" in event and event["RECURRENCE-ID"].params.get("RANGE", "").upper() == "THISANDPRIOR":
        return "replaces all dates up to one (THISANDPRIOR), which is not read"
    return None


def _dates_fault(event: Component) -> str | None:
    """All other times have to be readable too: reading one is asking for it."""
    excluded, added = ([one.dt for each in listed(event.get(name)) for one in each.dts] for name in LISTED)
    single = [event[key].dt for key in ("DTEND", "DURATION", "RECURRENCE-ID") if key in event]
    if len(single) + len(excluded) + len(added) > MOST_DATES:
        return f"names more than {MOST_DATES} single dates"
    if not all(isinstance(each, date) for each in excluded):
        return "leaves out a date (EXDATE) that is no date"
    if "EXRULE" in event:
        return "leaves dates out by a rule (EXRULE), which is not read"
    if not all(isinstance(each, datetime) or _is_period(each) for each in added):
        return "adds a date (RDATE) without a time"
    if any(_ends_first(*each) for each in added if isinstance(each, tuple)):
        return "adds a period (RDATE) that ends before it begins"
    return None


def _is_period(each: Any) -> bool:  # noqa: ANN401 -- anything that a stranger wrote
    return isinstance(each, tuple) and isinstance(each[0], datetime)


def _ends_first(begins: datetime, ends: Any) -> bool:  # noqa: ANN401 -- an instant or a duration
    return bool(begins + ends < begins if not isinstance(ends, datetime) else ends < begins)


def _rules_fault(event: Component) -> str | None:
    begin = event["DTSTART"].dt
    plain = (rules.plain(rule, begin) for rule in listed(event.get("RRULE")))
    return next(filter(None, map(rules.fault, plain)), None)
