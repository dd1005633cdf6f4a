"""A course calendar as the domain sees it: events with instants, whatever file or address they come from.

Owns the shape of an event and what changed between two readings; reading iCalendar text is the adapter's,
and what becomes of an event is calendar.py's.
"""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple, Protocol


class CourseEvent(NamedTuple):
    """One opening that a course calendar names."""

    id: str
    """Four characters that stay the same however the event is moved."""
    title: str
    date: date
    """The date it starts on, in the window's zone."""
    opening: int
    """Seconds since 1970."""
    closing: int
    wall: int
    """Its length by the clock on the wall, in seconds."""
    notes: tuple[str, ...] = ()


class Course(Protocol):
    """A course calendar that can be asked."""

    def events(self, zone: str, start: int, end: int) -> Sequence[CourseEvent]:
        """The events that meet [start, end), in seconds since 1970, by opening.

        `zone` is the window's: dates are in it, and times that name no zone.
        """
        ...


class Change(NamedTuple):
    """What a newer reading of a calendar has that an older one had not."""

    added: tuple[CourseEvent, ...]
    moved: tuple[tuple[CourseEvent, CourseEvent], ...]
    """Before and after."""
    gone: tuple[CourseEvent, ...]

    @property
    def nothing(self) -> bool:
        """Whether all events are where they were."""
        return not (self.added or self.moved or self.gone)


def change(before: Sequence[CourseEvent], after: Sequence[CourseEvent]) -> Change:
    """What changed between two readings of the same stretch of time."""
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
