"""When a sweep pages about messages in the queue of dead letters: as rarely as about any other incident.

At once, and each day while one is left. Where further ones came, after 15 minutes, an hour and four hours as well.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lamplighter.domain.guard.incident import PAGES_EVERY, Incident, next_page

EMPTY_AFTER = timedelta(minutes=12)
"""Sweeps come every five minutes: when two of them found no message, the next one is news."""


@dataclass(frozen=True)
class DeadLetterIncident:
    """What sweeps remember of it."""

    since: datetime
    seen: datetime
    pages: int = 0
    paged_at: datetime | None = None
    count: int = 0
    """How many of the messages that the last page told of may be left."""

    def pages_again(self, count: int) -> bool:
        """Whether so many messages page now."""
        if self.paged_at is None or self.seen - self.paged_at >= PAGES_EVERY:
            return True
        due = next_page(Incident(self.since, pages=self.pages, paged_at=self.paged_at))
        return count > self.count and self.seen >= due

    def paged(self, count: int) -> "DeadLetterIncident":
        """With one page more, about so many messages."""
        return replace(self, pages=self.pages + 1, paged_at=self.seen, count=count)


def incident(before: DeadLetterIncident | None, count: int, now: datetime) -> DeadLetterIncident:
    """The incident of a sweep that found so many messages: the one of the sweeps before, or a new one."""
    if before is None or now - before.seen > EMPTY_AFTER:
        return DeadLetterIncident(now, now)
    return replace(before, seen=now, count=min(before.count, count))
