"""The time zones that a calendar defines itself (VTIMEZONE): which definitions are read, and which are not.

A zone of the IANA list is always read from that list. Strangers write the other definitions, and every reading works
them out: only small and plain ones are read.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

from icalendar import Timezone
from icalendar.timezone import tzp
from icalendar.timezone.zoneinfo import ZONEINFO

from lamplighter.adapters.calendars import recurrence
from lamplighter.adapters.calendars.content_lines import edge
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values import zones

CLOCKS = {"STANDARD", "DAYLIGHT"}
KEPT = ("DTSTART", "TZOFFSETFROM", "TZOFFSETTO", "RRULE", "RDATE", "TZNAME")
MOST_RULES = 200
"""Of zones as well: some have no rule."""
LONGEST_SHOWN = 80


class Definitions(NamedTuple):
    """The time zones that a calendar defines."""

    lines: list[str]
    """The lines of the definitions that are read."""
    unread: Mapping[str, Reason]
    """By name: why a zone that the calendar defines is not known."""


def separated(lines: Sequence[str]) -> tuple[Definitions, list[str]]:
    """The definitions of zones, and all other lines. BadInput for definitions that would cost too much.

    A definition may come after the events that name it; the parser needs it before them.
    """
    blocks: dict[str, list[list[str]]] = {}
    others: list[str] = []
    for block, line in _blocks(lines):
        if block is None:
            others.append(line)
            continue
        name = _name(block)
        if name and name.strip("/") not in zones.names():
            blocks.setdefault(name, []).append(block)
    _check_cost([block for found in blocks.values() for block in found])
    unread = {name: why for name, found in blocks.items() if (why := _fault(found)) is not None}
    read = [line for name, found in blocks.items() if name not in unread for line in found[0]]
    return Definitions(read, unread), others


def pin_zones() -> None:
    """Give icalendar the zones of the pinned list alone; drop the definitions of other calendars.

    icalendar keeps a zone that a calendar defines, by its name, for as long as the process runs.
    """

    class Pinned(ZONEINFO):
        """The zones of the list, without its folders and without the machine's own zone."""

        def timezone(self, name: str) -> ZoneInfo | None:
            """A zone, or None."""
            return zones.zone(name) if name in zones.names() else None

    tzp.use(Pinned())


def _blocks(lines: Sequence[str]) -> Iterator[tuple[list[str] | None, str]]:
    """Each definition with its own lines, and every other line by itself."""
    block: list[str] = []
    inside: list[str] = []
    for line in lines:
        word, name = edge(line)
        if word == "BEGIN" and (inside or name == "VTIMEZONE"):
            inside.append(name)
        if not inside:
            yield None, line
            continue
        # Other components inside a zone are left out.
        if len(inside) <= 2 and CLOCKS.issuperset(inside[1:]) and _is_kept(line, len(inside)):  # noqa: PLR2004
            block.append(line)
        if word == "END" and inside.pop() and not inside:
            yield block, ""
            block = []
    if inside:
        raise BadInput(reason("calendar.file.ends-in-zone"))


def _is_kept(line: str, depth: int) -> bool:
    named = _property(line)
    return named in {"BEGIN", "END"} or (named == "TZID" if depth == 1 else named in KEPT)


def _property(line: str) -> str:
    return line.partition(":")[0].partition(";")[0].strip().upper()


def _name(block: Sequence[str]) -> str:
    named = [line.partition(":")[2].strip() for line in block if _property(line) == "TZID"]
    return named[0].replace("\\,", ",").replace("\\;", ";") if named else ""


def _check_cost(blocks: Sequence[Sequence[str]]) -> None:
    found = [
        (_name(block), line.partition(":")[2] if _property(line) == "RRULE" else "")
        for block in blocks
        for line in block
        if _property(line) in {"RRULE", "RDATE"}
    ]
    if max(len(found), len({_name(block) for block in blocks})) > MOST_RULES:
        raise BadInput(reason("calendar.file.too-many-zones", most=MOST_RULES))
    for name, rule in found:
        if rule and not recurrence.is_of_a_zone(rule):
            raise BadInput(
                reason("calendar.file.zone-rule", zone=name[:LONGEST_SHOWN], rule=rule[:LONGEST_SHOWN])
            )


def _fault(blocks: Sequence[Sequence[str]]) -> Reason | None:
    """Why the definitions of a zone do not make it known."""
    if len({_meaning(block) for block in blocks}) > 1:
        return reason("calendar.zone.twice")
    return None if _can_be_read(blocks[0]) else reason("calendar.zone.unreadable")


def _meaning(block: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """The clocks of a definition, without their names and in no order."""
    clocks: list[list[str]] = []
    for line in block:
        word, name = edge(line)
        if word == "BEGIN" and name in CLOCKS:
            clocks.append([])
        if clocks and _property(line) in KEPT and _property(line) != "TZNAME":
            clocks[-1].append(line.upper())
    return frozenset(tuple(sorted(clock)) for clock in clocks)


def _can_be_read(block: Sequence[str]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            defined = Timezone.from_ical("\r\n".join(block))
            return isinstance(defined, Timezone) and defined.to_tz(lookup_tzid=False) is not None
    except Exception:  # noqa: BLE001 -- the parser raises anything for input of strangers
        return False
