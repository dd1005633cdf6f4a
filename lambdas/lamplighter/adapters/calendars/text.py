"""The text of a course calendar (RFC 5545), as strangers write it -> the little of it that we keep.

Owns the limits, and what an event must be to become a window. People, places and descriptions are dropped
here, so that neither the ledger nor the function's code ever holds them; instants are course.py's.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from lamplighter.adapters.calendars import rules
from lamplighter.errors import BadInput

Component: TypeAlias = Any
"""A calendar or an event of icalendar, whose values are of thirty types and may each be a list."""

LARGEST = 1024 * 1024
MOST_EVENTS = 2000
MOST_RECURRING = 200
MOST_DATES = 1000
"""EXDATE and RDATE of one event."""
LARGEST_KEPT = 128 * 1024
MOST_FAULTS = 20
FIRST_YEAR, LAST_YEAR = 1990, 2200
LONGEST_TITLE = 80

KEPT = (
    *("UID", "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE"),
    *("RECURRENCE-ID", "SEQUENCE", "SUMMARY", "STATUS", "DTSTAMP"),
)
SERIES = ("RRULE", "RDATE", "EXDATE")
MOST_ZONE_RULES = 200
ALWAYS = "FREQ=YEARLY;BYMONTH=1"
CLOCKS = {"STANDARD", "DAYLIGHT"}
ZONE_KEPT = {"DTSTART", "TZOFFSETFROM", "TZOFFSETTO", "RRULE", "RDATE", "TZNAME"}


@dataclass(frozen=True, slots=True)
class CourseText:
    """A calendar as we keep it, and what of it can be no window, a line each."""

    text: str
    events: int
    faults: tuple[str, ...]


def read(content: bytes) -> CourseText:
    """What a calendar says, cut down to events with times; BadInput where it is none, or beyond the limits."""
    if len(content) > LARGEST:
        raise BadInput(f"is larger than {LARGEST // 1024} KiB, export a smaller calendar")
    if content.upper().count(b"BEGIN:VEVENT") > MOST_EVENTS:
        raise BadInput(f"has more than {MOST_EVENTS} events, export a smaller calendar")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"is not UTF-8 at byte {error.start}, export it as UTF-8") from None
    calendar = parse(text)
    faults: list[str] = []
    kept, recurring = [], 0
    for event in calendar.walk("VEVENT"):
        fault = _fault(event)
        if fault is not None:
            faults.append(f"{title_of(event)} {fault}")
        # What replaces one date of a series and cannot be read must not bring the replaced one back.
        if fault is None or "RECURRENCE-ID" in event:
            kept.append(_kept(event, cancelled=fault is not None))
            recurring += "RRULE" in event
    if recurring > MOST_RECURRING:
        raise BadInput(f"has more than {MOST_RECURRING} events that recur, export a smaller calendar")
    reduced = _calendar(calendar, kept)
    if len(reduced.encode()) > LARGEST_KEPT:
        raise BadInput(f"has more than {LARGEST_KEPT // 1024} KiB of times, export a smaller calendar")
    if len(faults) > MOST_FAULTS:
        faults = [*faults[:MOST_FAULTS], f"{len(faults) - MOST_FAULTS} more events are left out likewise"]
    return CourseText(reduced, len(kept), tuple(faults))


def parse(text: str) -> Component:
    """The one calendar in a text; BadInput says what is wrong."""
    from icalendar import Calendar, Timezone  # noqa: PLC0415 -- only those who follow a calendar pay for it
    from icalendar.timezone import tzp  # noqa: PLC0415

    if "BEGIN:VCALENDAR" not in text.upper():
        raise BadInput("is no iCalendar (RFC 5545), export it as .ics")
    try:
        _check_zones(text)
        # icalendar remembers a zone by its name for good: another calendar's zone of that name is not this one's.
        tzp.use_zoneinfo()
        calendar = Calendar.from_ical(_without_strangers(text))
    except BadInput:
        raise
    except Exception as error:  # noqa: BLE001 -- a parser fed by strangers; whatever it trips over is theirs
        said = " ".join(str(error).split())[:120]
        raise BadInput(f"is no iCalendar that can be read ({said}), export it as .ics") from None
    if not isinstance(calendar, Calendar) or isinstance(calendar, Timezone):
        raise BadInput("holds several calendars, export one")
    return calendar


def _without_strangers(text: str) -> str:
    """The text without what stands in a zone and is none of its clocks: icalendar fails on it."""
    kept: list[str] = []
    inside: list[str] = []
    for line in text.splitlines(keepends=True):
        word, _, name = line.strip().upper().partition(":")
        if word == "BEGIN":
            inside.append(name)
        zone = inside.index("VTIMEZONE") + 1 if "VTIMEZONE" in inside else len(inside)
        if CLOCKS.issuperset(inside[zone:]):
            kept.append(line)
        if word == "END" and inside:
            inside.pop()
    return "".join(kept)


def title_of(event: Component) -> str:
    """How a sentence names an event: its summary, on one line."""
    said = " ".join(str(event.get("SUMMARY") or "").split())
    said = "".join(mark for mark in said if mark.isprintable())[:LONGEST_TITLE]
    return f'"{said}"' if said else "an event without a title"


def is_cancelled(event: Component) -> bool:
    """Whether the calendar itself calls the event off."""
    return str(event.get("STATUS") or "").upper() == "CANCELLED"


def listed(value: Any) -> list[Any]:  # noqa: ANN401 -- icalendar gives one, or a list of them
    """A property that may be written several times."""
    return [] if value is None else value if isinstance(value, list) else [value]


def _fault(event: Component) -> str | None:
    """Why an event can be no window."""
    try:
        return _start_fault(event) or _dates_fault(event) or _rules_fault(event)
    except Exception:  # noqa: BLE001 -- a broken value of any kind, each with an error of its own
        return "has a time that cannot be read"


def _start_fault(event: Component) -> str | None:
    start = event["DTSTART"].dt
    if not isinstance(start, datetime):
        return "lasts all day; only events with times open a pool"
    if start.tzinfo is None and event["DTSTART"].params.get("TZID"):
        zone = str(event["DTSTART"].params["TZID"])[:LONGEST_TITLE]
        return f"is in the zone {zone}, which the calendar does not define"
    if not FIRST_YEAR <= start.year <= LAST_YEAR:
        return f"begins in {start.year}; only years from {FIRST_YEAR} to {LAST_YEAR} are read"
    if "DTEND" in event and not isinstance(event["DTEND"].dt, datetime):
        return "begins at a time and ends on a day"
    return None


def _dates_fault(event: Component) -> str | None:
    """All other times have to be readable too: reading one is asking for it."""
    single = [event[key].dt for key in ("DTEND", "DURATION", "RECURRENCE-ID") if key in event]
    listed_ones = [one.dts for key in ("EXDATE", "RDATE") for one in listed(event.get(key))]
    if len(single) + sum(map(len, listed_ones)) > MOST_DATES:
        return f"names more than {MOST_DATES} single dates"
    return None


def _rules_fault(event: Component) -> str | None:
    return next(filter(None, map(rules.fault, listed(event.get("RRULE")))), None)


def _kept(event: Component, *, cancelled: bool) -> Component:
    """The event without what no window needs."""
    from icalendar import Event  # noqa: PLC0415

    kept = Event()
    for name, value in event.items():
        if name.upper() in KEPT and not (cancelled and name.upper() in SERIES):
            kept[name] = value
    # An id may hold addresses of people; all that counts is whether two are the same.
    said = str(event.get("UID") or event.to_ical().decode("utf-8", "replace"))
    kept["UID"] = hashlib.sha256(said.encode()).hexdigest()[:16]
    if "SUMMARY" in kept:
        kept.pop("SUMMARY")
        kept.add("summary", title_of(event).strip('"'))
    if cancelled:
        # Only the date it stands for is known to be readable, if that.
        kept.pop("STATUS", None)
        kept.add("status", "CANCELLED")
        for key in ("DTSTART", "DTEND", "DURATION"):
            kept.pop(key, None)
        kept["DTSTART"] = event["RECURRENCE-ID"]
    return kept


def _calendar(calendar: Component, events: Sequence[Component]) -> str:
    from icalendar import Calendar  # noqa: PLC0415

    made = Calendar()
    made.add("version", "2.0")
    made.add("prodid", "-//lamplighter//course calendar//EN")
    if "X-WR-TIMEZONE" in calendar:
        made.add("x-wr-timezone", str(calendar["X-WR-TIMEZONE"])[:LONGEST_TITLE])
    for part in (*map(_zone, filter(_is_named, calendar.walk("VTIMEZONE"))), *events):
        made.add_component(part)
    text: bytes = made.to_ical()
    return text.decode()


def _is_named(zone: Component) -> bool:
    return "TZID" in zone and any(part.name in CLOCKS for part in zone.subcomponents)


def _zone(zone: Component) -> Component:
    """The zone with its changes of clocks and nothing else."""
    from icalendar import Timezone  # noqa: PLC0415

    made = Timezone()
    made["TZID"] = zone["TZID"]
    for part in zone.subcomponents:
        if part.name in CLOCKS:
            for name in set(map(str.upper, part)) - ZONE_KEPT:
                part.pop(name)
            part.subcomponents = []
            made.add_component(part)
    return made


def _check_zones(text: str) -> None:
    """Zones that a calendar defines itself are worked out at every look: only small and plain ones are."""
    found = list(_zone_rules(text.splitlines()))
    if len(found) > MOST_ZONE_RULES:
        raise BadInput("defines too many time zones, export a smaller calendar")
    if not all(rules.is_of_a_zone(rule) for rule in found):
        raise BadInput("defines a time zone whose clocks do not change once a year, export it anew")


def _zone_rules(lines: Iterable[str]) -> Iterator[str]:
    inside, rule = False, ""
    for line in lines:
        if rule and line[:1] in {" ", "\t"}:  # a folded line goes on
            rule += line[1:]
            continue
        if rule:
            yield rule
            rule = ""
        said = line.strip().upper()
        if said == "BEGIN:VTIMEZONE":
            inside = True
        elif said == "END:VTIMEZONE":
            inside = False
        elif inside and said.startswith(("RRULE", "RDATE")):
            rule = said.partition(":")[2] if said.startswith("RRULE") else ALWAYS
    if rule:
        yield rule
