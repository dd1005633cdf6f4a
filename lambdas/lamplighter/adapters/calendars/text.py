"""The text of a course calendar (RFC 5545), as strangers write it -> the small part of it that we keep.

Owns the limits, and which events can open a pool. It drops people, places and descriptions, so neither the ledger nor
a function ever holds them. course.py works out instants.
"""

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Any, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from icalendar import Calendar, Event, Timezone, vDDDTypes, vRecur
from icalendar.timezone import tzp

from lamplighter.adapters.calendars import recurrence, zone_definitions
from lamplighter.adapters.calendars.content_lines import content_lines
from lamplighter.adapters.calendars.event_faults import LONGEST_ZONE, fault, has_no_time, listed
from lamplighter.adapters.calendars.revisions import is_cancelled, revisions
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import Reason, Said, reason

Component: TypeAlias = Any
"""A calendar or an event of icalendar: its values have thirty types, and each may be a list."""

LARGEST = 1024 * 1024
MOST_EVENTS = 2000
MOST_RECURRING = 200
LARGEST_KEPT = 128 * 1024
MOST_FAULTS = 20
LONGEST_TITLE = 80
GREGORIAN = "GREGORIAN"

KEPT = (
    *("UID", "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE"),
    *("RECURRENCE-ID", "SEQUENCE", "SUMMARY", "STATUS", "DTSTAMP"),
)
SERIES = ("RRULE", "RDATE", "EXDATE")
OWN_ZONE = "X-WR-TIMEZONE"
"""In no standard; Google and Microsoft read times without a zone in it (spatie/icalendar-generator #137)."""


@dataclass(frozen=True, slots=True)
class CourseText:
    """A calendar as we keep it, and the faults of events that cannot open a pool."""

    text: str
    events: int
    faults: tuple[Said, ...]
    doubts: tuple[Said, ...] = ()
    """Parts that are read although they contradict each other."""


class Parsed(NamedTuple):
    """A calendar as icalendar reads it."""

    calendar: Component
    unread_zones: Mapping[str, Reason]
    """By name: why a zone that it defines is not known."""
    zone: tzinfo | None
    """Its own zone, where that is known."""


def read(content: bytes) -> CourseText:
    """A calendar, cut down to events with times; BadInput for a text that is no calendar or is beyond the limits."""
    parsed = parsed_of_stranger(content)
    faults: list[Said] = []
    kept, recurring = [], 0
    method = str(parsed.calendar.get("METHOD") or "").upper()
    counting = revisions(parsed.calendar.walk("VEVENT"), method)
    called_off = method == "CANCEL"
    events = [(event, key) for event, key in counting.events if not _is_due_date(event)]
    due_dates = [event for event, _ in counting.events if _is_due_date(event)]
    if due_dates:
        faults.append(reason("calendar.events.no-time", events=len(due_dates), first=_named(due_dates[0])))
    for event, key in events:
        why = reason("calendar.event.called-off") if called_off else fault(event, parsed.unread_zones)
        if why is not None:
            faults.append(reason("calendar.event.fault", event=_named(event), fault=why))
        # An unreadable replacement of one date of a series must not bring the replaced date back.
        if why is None or _names_a_date(event):
            kept.append(_kept(event, key, cancelled=why is not None))
            recurring += "RRULE" in event
    faults += [reason("calendar.event.replaced", event=_named(event)) for event in counting.replaced]
    if recurring > MOST_RECURRING:
        raise BadInput(reason("calendar.file.too-many-series", most=MOST_RECURRING))
    reduced = _calendar(parsed, kept)
    if len(reduced.encode()) > LARGEST_KEPT:
        raise BadInput(reason("calendar.file.too-many-times", kib=LARGEST_KEPT // 1024))
    doubts = [_shared(event) for event in counting.sharing]
    return CourseText(
        reduced,
        len(kept),
        _first(faults, "calendar.events.more-left-out"),
        (*_own_zone_doubt(parsed), *_first(doubts, "calendar.events.more-in-doubt")),
    )


def parsed_of_stranger(content: bytes) -> Parsed:
    """The calendar in a file that anybody may have written; BadInput where it is beyond the limits."""
    if len(content) > LARGEST:
        raise BadInput(reason("calendar.file.too-large", kib=LARGEST // 1024))
    if content.upper().count(b"BEGIN:VEVENT") > MOST_EVENTS:
        raise BadInput(reason("calendar.file.too-many-events", most=MOST_EVENTS))
    return _parsed(content)


def parse(text: str) -> Parsed:
    """The calendar in a text as `read` keeps it; BadInput says what is wrong."""
    return _parsed(text.encode())


@contextmanager
def of_strangers(code: str) -> Iterator[None]:
    """Whatever a library of calendars raises for input of strangers is BadInput, a reason of this code."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:  # noqa: BLE001 -- they raise anything for such input
        detail = " ".join(str(error).split())[:120]
        raise BadInput(reason(code, detail=detail)) from None


def _parsed(content: bytes) -> Parsed:
    definitions, others = zone_definitions.separated(_calendar_lines(content_lines(content)))
    ordered = [others[0], *definitions.lines, *others[1:]]
    with of_strangers("calendar.file.unreadable"), warnings.catch_warnings():
        # icalendar warns where it guesses what /vendor/Europe/Berlin means.
        warnings.simplefilter("ignore")
        zone_definitions.pin_zones()
        calendar = Calendar.from_ical("\r\n".join(ordered))
        own = tzp.timezone(str(listed(calendar[OWN_ZONE])[0])) if OWN_ZONE in calendar else None
    if not isinstance(calendar, Calendar) or isinstance(calendar, Timezone):
        raise BadInput(reason("calendar.file.not-icalendar"))
    if str(calendar.get("CALSCALE", GREGORIAN)).upper() != GREGORIAN:
        scale = str(calendar["CALSCALE"])[:LONGEST_ZONE]
        raise BadInput(reason("calendar.file.scale", scale=scale))
    return Parsed(calendar, definitions.unread, own)


def _calendar_lines(lines: list[str]) -> list[str]:
    """The lines of the calendar, without the lines before and after it."""
    begin, end = "BEGIN:VCALENDAR", "END:VCALENDAR"
    if begin not in lines:
        if lines and lines[0].lstrip().lower().startswith(("<!doctype html", "<html")):
            raise BadInput(reason("calendar.file.web-page"))
        raise BadInput(reason("calendar.file.not-icalendar"))
    if lines.count(begin) > 1:
        raise BadInput(reason("calendar.file.several"))
    inside = lines[lines.index(begin) :]
    if end not in inside:
        raise BadInput(reason("calendar.file.cut-off", end=end))
    return inside[: inside.index(end) + 1]


def _first(reasons: Sequence[Said], code: str) -> tuple[Said, ...]:
    """The first reasons; `code` says how many more there are."""
    more = len(reasons) - MOST_FAULTS
    return (*reasons[:MOST_FAULTS], *([reason(code, more=more)] if more > 0 else []))


def _own_zone_doubt(parsed: Parsed) -> list[Said]:
    """The calendar names a zone of its own that is not known: times without a zone then mean something else."""
    if OWN_ZONE not in parsed.calendar or parsed.zone is not None:
        return []
    named = " ".join(str(listed(parsed.calendar[OWN_ZONE])[0]).split())[:LONGEST_ZONE]
    return [reason("calendar.zone.own-unknown", property=OWN_ZONE, zone=named)]


def _shared(event: Component) -> Reason:
    if is_cancelled(event):
        return reason("calendar.event.shares-uid.called-off", event=_named(event))
    return reason("calendar.event.shares-uid", event=_named(event))


def title_of(event: Component) -> Said:
    """How a reason names an event: its summary in quotation marks, on one line."""
    summary = _summary(event)
    return f'"{summary}"' if summary else reason("calendar.event.untitled")


def _summary(event: Component) -> str:
    summary = " ".join(str(event.get("SUMMARY") or "").split())
    return "".join(mark for mark in summary if mark.isprintable())[:LONGEST_TITLE]


def _named(event: Component) -> Said:
    """How a reason names an event that somebody has to find in the calendar."""
    begin = _date_of(event, "DTSTART")
    if _summary(event) or begin is None:
        return title_of(event)
    return reason("calendar.event.untitled.on", date=date(begin.year, begin.month, begin.day))


def _names_a_date(event: Component) -> bool:
    """Whether the event says which date of a series it replaces."""
    return _date_of(event, "RECURRENCE-ID") is not None


def _date_of(event: Component, name: str) -> date | None:
    found = event.get(name)
    return found.dt if isinstance(found, vDDDTypes) and isinstance(found.dt, date) else None


def _is_due_date(event: Component) -> bool:
    """A cancelled event may have no end: it still cancels the event that it names."""
    return has_no_time(event) and not is_cancelled(event)


def _kept(event: Component, key: str, *, cancelled: bool) -> Component:
    """The event with the properties that a window needs."""
    kept = Event()
    # A replaced date does not recur, but some programs repeat the rule of the series there.
    single = cancelled or "RECURRENCE-ID" in event
    for name, value in event.items():
        if name.upper() in KEPT and not (single and name.upper() in SERIES):
            kept[name] = value
    # An id may hold addresses of people; only whether two ids are equal matters.
    kept["UID"] = hashlib.sha256(key.encode()).hexdigest()[:16]
    if not isinstance(event.get("SEQUENCE"), int):
        kept.pop("SEQUENCE", None)
    if "SUMMARY" in kept:
        kept.pop("SUMMARY")
        if summary := _summary(event):
            kept.add("summary", summary)
    if "RRULE" in kept:
        begin = event["DTSTART"].dt
        kept["RRULE"] = [vRecur(recurrence.plain(rule, begin)) for rule in listed(event["RRULE"])]
    if cancelled:
        # Only the date that it replaces is known to be readable.
        kept.pop("STATUS", None)
        kept.add("status", "CANCELLED")
        for name in ("DTSTART", "DTEND", "DURATION"):
            kept.pop(name, None)
        kept["DTSTART"] = event["RECURRENCE-ID"]
    return kept


def _calendar(parsed: Parsed, events: Sequence[Component]) -> str:
    made = Calendar()
    made.add("version", "2.0")
    made.add("prodid", "-//lamplighter//course calendar//EN")
    if parsed.zone is not None:
        named = (
            parsed.zone.key
            if isinstance(parsed.zone, ZoneInfo)
            else str(listed(parsed.calendar[OWN_ZONE])[0])
        )
        made.add(OWN_ZONE, named)
    for part in (*parsed.calendar.walk("VTIMEZONE"), *events):
        made.add_component(part)
    text: bytes = made.to_ical()
    return text.decode()
