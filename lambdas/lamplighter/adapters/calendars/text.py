"""The text of a course calendar (RFC 5545), as strangers write it -> the little of it that we keep.

Owns the limits, and what an event must be to become a window. People, places and descriptions are dropped
here, so that neither the ledger nor the function's code ever holds them; instants are course.py's.
"""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Any, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from icalendar import Calendar, Event, Timezone, vDDDTypes, vRecur
from icalendar.timezone import tzp

from lamplighter.adapters.calendars import rules, zone_definitions
from lamplighter.adapters.calendars.content_lines import content_lines
from lamplighter.adapters.calendars.faults import LONGEST_ZONE, fault, listed
from lamplighter.adapters.calendars.revisions import is_cancelled, revisions
from lamplighter.errors import BadInput

Component: TypeAlias = Any
"""A calendar or an event of icalendar, whose values are of thirty types and may each be a list."""

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
"""No standard has it; Google and Microsoft read times without a zone in it (spatie/icalendar-generator #137)."""


@dataclass(frozen=True, slots=True)
class CourseText:
    """A calendar as we keep it, and what of it can be no window, a line each."""

    text: str
    events: int
    faults: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    """What is read although it contradicts itself, a line each."""


class Parsed(NamedTuple):
    """A calendar as icalendar has it."""

    calendar: Component
    unread_zones: Mapping[str, str]
    """Why a zone that it defines is not known, by its name."""
    zone: tzinfo | None
    """What it calls its own zone, where that is known."""


def read(content: bytes) -> CourseText:
    """What a calendar says, cut down to events with times; BadInput where it is none, or beyond the limits."""
    if len(content) > LARGEST:
        raise BadInput(f"is larger than {LARGEST // 1024} KiB, export a smaller calendar")
    if content.upper().count(b"BEGIN:VEVENT") > MOST_EVENTS:
        raise BadInput(f"has more than {MOST_EVENTS} events, export a smaller calendar")
    parsed = _parsed(content)
    said: list[str] = []
    kept, recurring = [], 0
    method = str(parsed.calendar.get("METHOD") or "").upper()
    counting = revisions(parsed.calendar.walk("VEVENT"), method)
    called_off = method == "CANCEL"
    for event, key in counting.events:
        why = "is called off (METHOD:CANCEL)" if called_off else fault(event, parsed.unread_zones)
        if why is not None:
            said.append(f"{_named(event)} {why}")
        # What replaces one date of a series and cannot be read must not bring the replaced one back.
        if why is None or _names_a_date(event):
            kept.append(_kept(event, key, cancelled=why is not None))
            recurring += "RRULE" in event
    said += [f"{_named(event)} is replaced by a later version of it" for event in counting.replaced]
    if recurring > MOST_RECURRING:
        raise BadInput(f"has more than {MOST_RECURRING} events that recur, export a smaller calendar")
    reduced = _calendar(parsed, kept)
    if len(reduced.encode()) > LARGEST_KEPT:
        raise BadInput(f"has more than {LARGEST_KEPT // 1024} KiB of times, export a smaller calendar")
    doubts = [f"{_named(event)} has the UID of another event; {_both(event)}" for event in counting.sharing]
    return CourseText(
        reduced,
        len(kept),
        _first(said, "events are left out likewise"),
        (*_own_zone_doubt(parsed), *_first(doubts)),
    )


def parse(text: str) -> Parsed:
    """The one calendar in a text as it is kept; BadInput says what is wrong."""
    return _parsed(text.encode())


def _parsed(content: bytes) -> Parsed:
    definitions, others = zone_definitions.separated(_calendar_lines(content_lines(content)))
    ordered = [others[0], *definitions.lines, *others[1:]]
    try:
        with warnings.catch_warnings():
            # icalendar guesses what /vendor/Europe/Berlin means, and would rather not.
            warnings.simplefilter("ignore")
            zone_definitions.pin_zones()
            calendar = Calendar.from_ical("\r\n".join(ordered))
            own = tzp.timezone(str(listed(calendar[OWN_ZONE])[0])) if OWN_ZONE in calendar else None
    except Exception as error:  # noqa: BLE001 -- a parser fed by strangers; whatever it trips over is theirs
        said = " ".join(str(error).split())[:120]
        raise BadInput(f"is no iCalendar that can be read ({said}), export it as .ics") from None
    if not isinstance(calendar, Calendar) or isinstance(calendar, Timezone):
        raise BadInput("is no iCalendar (RFC 5545), export it as .ics")
    if str(calendar.get("CALSCALE", GREGORIAN)).upper() != GREGORIAN:
        raise BadInput(
            f"counts days as {str(calendar['CALSCALE'])[:LONGEST_ZONE]} does, export it with {GREGORIAN}"
        )
    return Parsed(calendar, definitions.unread, own)


def _calendar_lines(lines: list[str]) -> list[str]:
    """The lines of the one calendar; what stands before and behind it is not part of it."""
    begin, end = "BEGIN:VCALENDAR", "END:VCALENDAR"
    if begin not in lines:
        raise BadInput("is no iCalendar (RFC 5545), export it as .ics")
    if lines.count(begin) > 1:
        raise BadInput("holds several calendars, export one")
    inside = lines[lines.index(begin) :]
    if end not in inside:
        raise BadInput(f"is cut off before {end}, export it anew")
    return inside[: inside.index(end) + 1]


def _first(said: Sequence[str], more: str = "likewise") -> tuple[str, ...]:
    return (
        *said[:MOST_FAULTS],
        *([f"{len(said) - MOST_FAULTS} more {more}"] if len(said) > MOST_FAULTS else []),
    )


def _own_zone_doubt(parsed: Parsed) -> list[str]:
    """A zone of its own that nobody knows changes what times without a zone mean."""
    if OWN_ZONE not in parsed.calendar or parsed.zone is not None:
        return []
    named = " ".join(str(listed(parsed.calendar[OWN_ZONE])[0]).split())[:LONGEST_ZONE]
    return [
        f"{OWN_ZONE} names the zone {named}, which nobody knows; times without a zone are in the window's"
    ]


def _both(event: Component) -> str:
    return "it alone is called off" if is_cancelled(event) else "both count"


def title_of(event: Component) -> str:
    """How a sentence names an event: its summary, on one line."""
    said = " ".join(str(event.get("SUMMARY") or "").split())
    said = "".join(mark for mark in said if mark.isprintable())[:LONGEST_TITLE]
    return f'"{said}"' if said else "an event without a title"


def _named(event: Component) -> str:
    """How a sentence names an event that somebody has to find in the calendar."""
    begin = _date_of(event, "DTSTART")
    untitled = not str(event.get("SUMMARY") or "").strip() and begin is not None
    return f"{title_of(event)} on {begin:%Y-%m-%d}" if untitled else title_of(event)


def _names_a_date(event: Component) -> bool:
    """Whether it is known which date of a series an event replaces."""
    return _date_of(event, "RECURRENCE-ID") is not None


def _date_of(event: Component, name: str) -> date | None:
    found = event.get(name)
    return found.dt if isinstance(found, vDDDTypes) and isinstance(found.dt, date) else None


def _kept(event: Component, key: str, *, cancelled: bool) -> Component:
    """The event without what no window needs."""
    kept = Event()
    # A date of a series recurs no more: some programs repeat the rule of the series there.
    single = cancelled or "RECURRENCE-ID" in event
    for name, value in event.items():
        if name.upper() in KEPT and not (single and name.upper() in SERIES):
            kept[name] = value
    # An id may hold addresses of people; all that counts is whether two are the same.
    kept["UID"] = hashlib.sha256(key.encode()).hexdigest()[:16]
    if not isinstance(event.get("SEQUENCE"), int):
        kept.pop("SEQUENCE", None)
    if "SUMMARY" in kept:
        kept.pop("SUMMARY")
        kept.add("summary", title_of(event).strip('"'))
    if "RRULE" in kept:
        begin = event["DTSTART"].dt
        kept["RRULE"] = [vRecur(rules.plain(rule, begin)) for rule in listed(event["RRULE"])]
    if cancelled:
        # Only the date it stands for is known to be readable.
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
