"""A course calendar as the domain sees it: events with instants, from any file or address.

Owns the fields of an event and the changes between two readings. adapters/calendars reads iCalendar text;
occurrences.py turns events into windows.
"""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple, Protocol

from lamplighter.reasons.reason import Said


class CourseEvent(NamedTuple):
    """One event of a course calendar."""

    id: str
    """Four characters that stay the same when the event moves."""
    title: Said
    """Its name in the calendar, in quotation marks; a reason where it has none."""
    date: date
    """The date it starts on, in the window's zone."""
    opening: int
    """Seconds since 1970."""
    closing: int
    wall: int
    """Its length by the wall clock, in seconds."""
    notes: tuple[Said, ...] = ()


class Course(Protocol):
    """A course calendar whose events can be read."""

    def events(self, zone: str, start: int, end: int) -> Sequence[CourseEvent]:
        """The events that meet [start, end), in seconds since 1970, by opening.

        `zone` is the window's: dates are in it, and times without a zone are read in it.
        """
        ...


class Change(NamedTuple):
    """The differences between two readings of a calendar."""

    added: tuple[CourseEvent, ...]
    moved: tuple[tuple[CourseEvent, CourseEvent], ...]
    """Before and after."""
    gone: tuple[CourseEvent, ...]

    @property
    def nothing(self) -> bool:
        """Whether no event has changed."""
        return not (self.added or self.moved or self.gone)


def change(before: Sequence[CourseEvent], after: Sequence[CourseEvent]) -> Change:
    """The differences between two readings of the same range of time."""
    old, new = ({(event.id, event.date): event for event in events} for events in (before, after))
    moved = [
        (old[key], new[key])
        for key in new
        if key in old and (old[key].opening, old[key].closing) != (new[key].opening, new[key].closing)
    ]
    return Change(
        tuple(event for key, event in new.items() if key not in old),
        tuple(moved),
        tuple(event for key, event in old.items() if key not in new),
    )
