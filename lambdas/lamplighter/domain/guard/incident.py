"""An incident: something stays wrong over many sweeps. When the guard tries again, and when it pages again.

The guard closes a leaked pool again and again, with a growing wait. Pages repeat more and more rarely. A person who
has seen them may silence them for a while; the closing goes on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.guard.breach import EarlierBreach

LONGEST_RETRY = timedelta(hours=1)
PAGES_AFTER = (timedelta(), timedelta(minutes=15), timedelta(hours=1), timedelta(hours=4))
PAGES_EVERY = timedelta(days=1)
LONGEST_SILENCE = timedelta(hours=12)
QUIET = timedelta(minutes=65)
"""A breach that no sweep found for that long is over: retries are at most an hour apart. Found again, it is new."""


@dataclass(frozen=True)
class Incident:
    """Its history: since when, how often the guard closed the pool again, and how often it paged."""

    since: datetime
    closed_at: datetime | None = None
    tries: int = 0
    pages: int = 0
    paged_at: datetime | None = None
    """The last page."""
    silenced_until: datetime | None = None

    def silenced(self, now: datetime) -> bool:
        """Whether a person has seen the pages and silenced them."""
        return self.silenced_until is not None and now < self.silenced_until


def retry_after(tries: int) -> timedelta:
    """The wait after that many closes of a leaked pool: 5 minutes, doubled each time, at most an hour."""
    return min(timedelta(minutes=5 * 2 ** min(tries, 4)), LONGEST_RETRY)


def next_page(incident: Incident) -> datetime:
    """When the next page is due: at once, after 15 min, 1 h, 4 h, then daily, counted from the start."""
    pages = incident.pages
    # Pages that an ack held back are not sent later: one page says it all.
    while incident.paged_at is not None and _page(incident.since, pages) <= incident.paged_at:
        pages += 1
    return _page(incident.since, pages)


def _page(since: datetime, number: int) -> datetime:
    if number < len(PAGES_AFTER):
        return since + PAGES_AFTER[number]
    return since + PAGES_AFTER[-1] + PAGES_EVERY * (number - len(PAGES_AFTER) + 1)


def pages_again(before: Iterable[EarlierBreach], now: datetime) -> bool:
    """Whether a breach that earlier sweeps found, oldest first, pages again now that a sweep finds it once more."""
    incident: list[EarlierBreach] = []
    for earlier in before:
        if incident and earlier.at - incident[-1].at > QUIET:
            incident = []
        incident.append(earlier)
    if not incident or now - incident[-1].at > QUIET:
        return True
    if now - incident[0].at >= PAGES_EVERY:
        return not any(earlier.paged and now - earlier.at < PAGES_EVERY for earlier in incident)
    paged = sum(earlier.paged for earlier in incident)
    return now >= next_page(Incident(incident[0].at, pages=paged))
