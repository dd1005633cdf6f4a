"""The time zones that a calendar defines itself (VTIMEZONE): which definitions are read, and which are not.

A zone of the IANA list is read from that list whatever a calendar says of it. Definitions are worked out at every
reading and are written by strangers: only small and plain ones are.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

from icalendar import Timezone
from icalendar.timezone import tzp
from icalendar.timezone.zoneinfo import ZONEINFO

from lamplighter.adapters.calendars import rules
from lamplighter.adapters.calendars.content_lines import edge
from lamplighter.errors import BadInput
from lamplighter.values import zones

CLOCKS = {"STANDARD", "DAYLIGHT"}
KEPT = ("DTSTART", "TZOFFSETFROM", "TZOFFSETTO", "RRULE", "RDATE", "TZNAME")
MOST_RULES = 200
"""Also of zones, some of which need no rule."""
LONGEST_SHOWN = 80


class Definitions(NamedTuple):
    """The zones that a calendar defines."""

    lines: list[str]
    """The definitions that are read."""
    unread: Mapping[str, str]
    """Why a zone that the calendar defines is not known, by its name."""


def separated(lines: Sequence[str]) -> tuple[Definitions, list[str]]:
    """The definitions of zones, and all other lines. BadInput for definitions that would cost too much.

    A definition may stand behind the events that name it; a parser has to see it before them.
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
    """Let icalendar know the zones of the pinned list and no others; forget what another calendar defined.

    icalendar remembers a zone that a calendar defines by its name, for as long as the process runs.
    """

    class Pinned(ZONEINFO):
        """The zones of the list: no folders of it, and not the machine's own zone."""

        def timezone(self, name: str) -> ZoneInfo | None:
            """A zone, or None."""
            return zones.zone(name) if name in zones.names() else None

    tzp.use(Pinned())


def _blocks(lines: Sequence[str]) -> Iterator[tuple[list[str] | None, str]]:
    """Each definition whole, with its own lines alone; every other line by itself."""
    block: list[str] = []
    inside: list[str] = []
    for line in lines:
        word, name = edge(line)
        if word == "BEGIN" and (inside or name == "VTIMEZONE"):
            inside.append(name)
        if not inside:
            yield None, line
            continue
        # What stands in a zone and is none of its clocks is not the zone's.
        if len(inside) <= 2 and CLOCKS.issuperset(inside[1:]) and _is_kept(line, len(inside)):  # noqa: PLR2004
            block.append(line)
        if word == "END" and inside.pop() and not inside:
            yield block, ""
            block = []
    if inside:
        raise BadInput("ends inside a time zone, export it anew")


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
        raise BadInput("defines too many time zones, export a smaller calendar")
    for name, rule in found:
        if rule and not rules.is_of_a_zone(rule):
            raise BadInput(
                f"defines a time zone whose clocks change by a rule that is not read "
                f"({name[:LONGEST_SHOWN]}: {rule[:LONGEST_SHOWN]}), export it anew"
            )


def _fault(blocks: Sequence[Sequence[str]]) -> str | None:
    """Why a zone is not known by its definitions."""
    if len({_meaning(block) for block in blocks}) > 1:
        return "which the calendar defines twice, not alike"
    return None if _can_be_read(blocks[0]) else "which the calendar defines in a way that cannot be read"


def _meaning(block: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """The clocks of a definition, whatever they are called and in whatever order they stand."""
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
    except Exception:  # noqa: BLE001 -- parsers fed by strangers
        return False
