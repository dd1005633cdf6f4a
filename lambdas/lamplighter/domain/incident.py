"""An incident: a leaked pool's history, and when it is closed again and when somebody is paged again.

A leaked pool is closed again for ever, with a growing wait; pages repeat more and more rarely.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

LONGEST_RETRY = timedelta(hours=1)
PAGES_AFTER = (timedelta(), timedelta(minutes=15), timedelta(hours=1), timedelta(hours=4))
PAGES_EVERY = timedelta(days=1)


@dataclass(frozen=True)
class Incident:
    """A leaked pool's history: since when, how often it was closed again and paged."""

    since: datetime
    closed_at: datetime | None = None
    tries: int = 0
    pages: int = 0


def retry_after(tries: int) -> timedelta:
    """The wait after that many closes of a leaked pool: 5 minutes doubled each time, at most an hour."""
    return min(timedelta(minutes=5 * 2 ** min(tries, 4)), LONGEST_RETRY)


def next_page(incident: Incident) -> datetime:
    """When the next page is due: at once, after 15 min, 1 h, 4 h, then daily, counted from the start."""
    if incident.pages < len(PAGES_AFTER):
        return incident.since + PAGES_AFTER[incident.pages]
    return incident.since + PAGES_AFTER[-1] + PAGES_EVERY * (incident.pages - len(PAGES_AFTER) + 1)
