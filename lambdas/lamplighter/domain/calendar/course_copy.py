"""The last good copy of a calendar at an address: when it is read again, what takes its place, what is said.

Pure: the reading itself is the adapter's, keeping the copy the ledger's, saying it the planner's.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lamplighter.domain.calendar.course import Change, CourseEvent
from lamplighter.values import zones
from lamplighter.values.counted import counted

POLLED = timedelta(minutes=50)
"""Read again after this long: once an hour, whatever else wakes the planner in between."""
LOOKED_AHEAD = timedelta(days=60)
"""So far ahead a change is said."""
MOST_NAMED = 5

Clock = Callable[[datetime], str]


@dataclass(frozen=True, slots=True)
class CourseCopy:
    """What was last read of one window's calendar."""

    address: str
    """A fingerprint of the address: the address itself may hold a secret."""
    tried: datetime
    text: str | None = None
    """As the adapter keeps it; None while it was never read."""
    read: datetime | None = None
    """When the text was last seen there."""
    problem: str | None = None
    """Why it cannot be read at present."""

    def is_due(self, address: str, now: datetime) -> bool:
        """Whether the address is read again: hourly, and at once where the lab names another."""
        return self.address != fingerprint(address) or now - self.tried >= POLLED


def fingerprint(address: str) -> str:
    """What tells one address from another without giving it away."""
    return hashlib.sha256(address.encode()).hexdigest()[:16]


def seen(address: str, text: str, now: datetime) -> CourseCopy:
    """The copy after a reading that went well."""
    return CourseCopy(fingerprint(address), now, text, now)


def unseen(kept: CourseCopy | None, address: str, problem: str, now: datetime) -> CourseCopy:
    """The copy after a reading that failed: the last good one stays, unless the lab now names another address."""
    if kept is None or kept.address != fingerprint(address):
        return CourseCopy(fingerprint(address), now, problem=problem)
    return replace(kept, tried=now, problem=problem)


def to_say(  # noqa: PLR0911 -- one return for each thing there is to say
    window: str, before: CourseCopy | None, after: CourseCopy, change: Change, clock: Clock
) -> str | None:
    """What people are told about a reading; None where there is nothing new."""
    same = before is not None and before.address == after.address
    if after.problem is not None:
        if same and before is not None and before.problem is not None:
            return None
        if after.read is None:
            return f"the calendar of window {window} cannot be read, so it opens nothing: {after.problem}"
        return (
            f"the calendar of window {window} cannot be read: {after.problem}; "
            f"it goes on as it was at {clock(after.read)}"
        )
    if not same or (before is not None and before.text is None):
        return f"window {window} follows its calendar: {counted(len(change.added), 'event')} in the next {_DAYS} days"
    if not change.nothing:
        return f"the calendar of window {window} has changed: {_told(change, clock)}"
    if before is not None and before.problem is not None:
        return f"the calendar of window {window} can be read again, and nothing in it has changed"
    return None


_DAYS = LOOKED_AHEAD // timedelta(days=1)


def _told(change: Change, clock: Clock) -> str:
    said = [
        *(f"{event.title} at {clock(_opens(event))} is new" for event in change.added),
        *(_moved(old, new, clock) for old, new in change.moved),
        *(f"{event.title} at {clock(_opens(event))} is gone" for event in change.gone),
    ]
    more = [f"and {len(said) - MOST_NAMED} more"] if len(said) > MOST_NAMED else []
    return "; ".join((*said[:MOST_NAMED], *more))


def _moved(old: CourseEvent, new: CourseEvent, clock: Clock) -> str:
    if old.opening == new.opening:
        return f"{new.title} at {clock(_opens(new))} now ends at {clock(_instant(new.closing))}"
    return f"{new.title} at {clock(_opens(old))} is now at {clock(_opens(new))}"


def _opens(event: CourseEvent) -> datetime:
    return _instant(event.opening)


def _instant(seconds: int) -> datetime:
    return zones.instant(seconds)
