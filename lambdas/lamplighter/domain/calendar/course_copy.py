"""The last good copy of a calendar at an address: when to read it again, what replaces it, and which news to send.

Pure: the adapter reads the address, the ledger keeps the copy, the planner sends the news.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lamplighter.domain.calendar.course import Change, CourseEvent
from lamplighter.reasons.reason import Reason, Said, reason, several
from lamplighter.values import zones

POLLED = timedelta(minutes=50)
"""The planner reads an address again after so long: once an hour, however often it runs in between."""
LOOKED_AHEAD = timedelta(days=60)
"""Changes so far ahead are news."""


@dataclass(frozen=True, slots=True)
class CourseCopy:
    """The last reading of one window's calendar."""

    address: str
    """A fingerprint of the address: the address itself may hold a secret."""
    tried: datetime
    text: str | None = None
    """The calendar's text as the adapter keeps it; None until the first good reading."""
    read: datetime | None = None
    """When the address last had this text."""
    problem: Said | None = None
    """Why it cannot be read now."""

    def is_due(self, address: str, now: datetime) -> bool:
        """Whether to read the address: hourly, and at once where the lab names another address."""
        return self.address != fingerprint(address) or now - self.tried >= POLLED


def fingerprint(address: str) -> str:
    """A hash that tells addresses apart without revealing them."""
    return hashlib.sha256(address.encode()).hexdigest()[:16]


def seen(address: str, text: str, now: datetime) -> CourseCopy:
    """The copy after a reading that went well."""
    return CourseCopy(fingerprint(address), now, text, now)


def unseen(kept: CourseCopy | None, address: str, problem: Said, now: datetime) -> CourseCopy:
    """The copy after a reading that failed: the last good one stays, unless the lab now names another address."""
    if kept is None or kept.address != fingerprint(address):
        return CourseCopy(fingerprint(address), now, problem=problem)
    return replace(kept, tried=now, problem=problem)


def news(  # noqa: PLR0911 -- a return for each kind of news
    window: str, before: CourseCopy | None, after: CourseCopy, change: Change
) -> Reason | None:
    """What people are told about a reading; None where nothing is new."""
    same = before is not None and before.address == after.address
    if after.problem is not None:
        if same and before is not None and before.problem is not None:
            return None
        if after.read is None:
            return reason("calendar.course.never-read", window=window, problem=after.problem)
        return reason("calendar.course.not-read", window=window, problem=after.problem, read=after.read)
    if not same or (before is not None and before.text is None):
        return reason("calendar.course.followed", window=window, events=len(change.added), ahead=_DAYS_AHEAD)
    if not change.nothing:
        return reason("calendar.course.changed", window=window, changes=_changes(change))
    if before is not None and before.problem is not None:
        return reason("calendar.course.read-again", window=window)
    return None


_DAYS_AHEAD = LOOKED_AHEAD // timedelta(days=1)


def _changes(change: Change) -> Said:
    """The first changes, and the number of the others: an item of the ledger has no room for thousands."""
    return several(
        [
            *(reason("calendar.event.new", event=event.title, at=_opens(event)) for event in change.added),
            *(_moved(old, new) for old, new in change.moved),
            *(reason("calendar.event.gone", event=event.title, at=_opens(event)) for event in change.gone),
        ]
    )


def _moved(old: CourseEvent, new: CourseEvent) -> Reason:
    if old.opening == new.opening:
        closes = zones.instant(new.closing)
        return reason("calendar.event.ends", event=new.title, at=_opens(new), closes=closes)
    return reason("calendar.event.moved", event=new.title, before=_opens(old), at=_opens(new))


def _opens(event: CourseEvent) -> datetime:
    return zones.instant(event.opening)
