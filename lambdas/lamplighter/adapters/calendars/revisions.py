"""Which of several components with one UID counts: a later version, a date of a series, or an event of its own.

RFC 5546, section 2.1.5: of two versions the one with the higher SEQUENCE is the newer; of one SEQUENCE, the one with
the later DTSTAMP. In a published calendar (no METHOD, or PUBLISH) most programs write into DTSTAMP when they made the
file, and some write one UID into all their events (RFC 5545 forbids it). So there a later DTSTAMP means only this: a
cancellation is a version of the event with the same begin. All other events of one SEQUENCE count, with a doubt.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

Component: TypeAlias = Any
PUBLISHED = ("", "PUBLISH")
"""The METHOD of a calendar that is no message about a change."""
TIMES = ("DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "EXRULE")


class Revisions(NamedTuple):
    """The events of a calendar that count, and those that do not."""

    events: list[tuple[Component, str]]
    """Each event that counts, with its id: the UID if no other event has it."""
    replaced: list[Component]
    """Older versions of other events, and events that a later version cancels."""
    sharing: list[Component]
    """Events that count although they have the UID of another."""


def revisions(events: Iterable[Component], method: str = "") -> Revisions:
    """Judge the events of a calendar, in its order; `method` is its METHOD."""
    published = method.upper() in PUBLISHED
    ordered = list(events)
    by_uid = defaultdict[str, list[int]](list)
    for number, event in enumerate(ordered):
        by_uid[_uid(event)].append(number)
    ids: dict[int, str] = {}
    replaced: set[int] = set()
    for uid, numbers in by_uid.items():
        if len(numbers) == 1:
            ids[numbers[0]] = uid
            continue
        masters = [number for number in numbers if "RECURRENCE-ID" not in ordered[number]]
        newest, older = _newest(ordered, masters, published=published)
        ids |= {number: _id(ordered[number], uid, place) for place, number in enumerate(newest)}
        replaced |= older
        begins = [_begin(ordered[number]) for number in newest]
        dates = defaultdict[bytes, list[int]](list)
        for number in set(numbers) - set(masters):
            dates[_written(ordered[number], "RECURRENCE-ID")].append(number)
        for same in dates.values():
            last = max(same, key=lambda number: (*_version(ordered[number]), number))
            owner = _owner(_written(ordered[last], "RECURRENCE-ID"), begins)
            if owner is None or not _calls_off(ordered[newest[owner]], ordered[last]):
                ids[last] = uid if owner is None else ids[newest[owner]]
            replaced |= {number for number in same if _times(ordered[number]) != _times(ordered[last])}
    shared = [number for number in ids if ids[number] != _uid(ordered[number])]
    return Revisions(
        [(ordered[number], ids[number]) for number in sorted(ids)],
        [ordered[number] for number in sorted(replaced - set(ids))],
        [ordered[number] for number in sorted(shared) if "RECURRENCE-ID" not in ordered[number]],
    )


def _newest(
    events: Sequence[Component], numbers: Sequence[int], *, published: bool
) -> tuple[list[int], set[int]]:
    """Of one UID the events of the newest version, by their begin, and the older ones.

    Each time is there once; cancelled ones are last.
    """
    compared = 1 if published else 2
    highest = max((_version(events[number])[:compared] for number in numbers), default=())
    latest = [number for number in numbers if _version(events[number])[:compared] == highest]
    once: dict[tuple[bytes, ...], int] = {}
    for number in sorted(latest, key=lambda number: (*_version(events[number]), number)):
        once[_times(events[number])] = number
    standing = {
        number
        for number in once.values()
        if not any(_overrules(events[other], events[number]) for other in once.values())
    }

    def order(number: int) -> tuple[bool, bytes, int]:
        return is_cancelled(events[number]), _written(events[number], "DTSTART"), number

    newest = sorted(standing, key=order)
    return newest, set(numbers) - set(latest) | set(once.values()) - standing


def _overrules(event: Component, other: Component) -> bool:
    """Whether one of two events with the same begin cancels the other, or restores it."""
    differ = is_cancelled(event) != is_cancelled(other)
    return differ and _version(event) > _version(other) and _instant(event) == _instant(other)


def _calls_off(series: Component, date: Component) -> bool:
    """Whether the cancellation of a series also cancels this replaced date, which is not newer."""
    return is_cancelled(series) and _version(date) <= _version(series)


def _owner(date: bytes, begins: Sequence[tuple[bool, bytes]]) -> int | None:
    """The series with one UID that a replaced date belongs to: the one with its time of day."""
    if not begins:
        return None

    def fits(place: int) -> tuple[bool, bool, int]:
        recurs, begin = begins[place]
        return recurs and begin[8:15] == date[8:15] and begin[:8] <= date[:8], recurs, -place

    return max(range(len(begins)), key=fits)


def _begin(event: Component) -> tuple[bool, bytes]:
    """Whether an event recurs, and when it begins, as it is written."""
    return "RRULE" in event or "RDATE" in event, _written(event, "DTSTART")


def _id(event: Component, uid: str, place: int) -> str:
    return f"{uid} {_written(event, 'DTSTART').decode('utf-8', 'replace')}" if place else uid


def _uid(event: Component) -> str:
    try:
        found = event.get("UID") or event.to_ical().decode("utf-8", "replace")
    except Exception:  # noqa: BLE001 -- every kind of broken value has its own error
        found = [(name, _written(event, name)) for name in event]
    return str(found)


def _version(event: Component) -> tuple[int, bytes, bytes]:
    """The order of versions, the most trusted property first; LAST-MODIFIED if all were written at once."""
    sequence = event.get("SEQUENCE")
    number = sequence if isinstance(sequence, int) else 0
    return number, _written(event, "DTSTAMP"), _written(event, "LAST-MODIFIED")


def is_cancelled(event: Component) -> bool:
    """Whether the calendar itself cancels the event."""
    return str(event.get("STATUS") or "").upper() == "CANCELLED"


def _instant(event: Component) -> object:
    """When an event begins, as an instant where its zone is known."""
    begin = getattr(event.get("DTSTART"), "dt", None)
    if isinstance(begin, datetime) and begin.tzinfo is not None:
        return begin.astimezone(UTC)
    return _written(event, "DTSTART")


def _times(event: Component) -> tuple[bytes, ...]:
    return tuple(_written(event, name) for name in TIMES)


def _written(event: Component, name: str) -> bytes:
    """A property as the calendar has it, with its zone; empty if it cannot be read."""
    try:
        found = event.get(name)
        every = found if isinstance(found, list) else [] if found is None else [found]
        zoned = [one.to_ical() + str(getattr(one, "params", {}).get("TZID", "")).encode() for one in every]
    except Exception:  # noqa: BLE001 -- every kind of broken value has its own error
        return b""
    return b"\n".join(zoned)
