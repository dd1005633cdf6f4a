"""An incident: what stays wrong over many sweeps, when it is tried again and when somebody is paged again.

A leaked pool is closed again for ever, with a growing wait; pages repeat more and more rarely, and a
person who has seen them may silence them for a while, never the closing.
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
"""What was not said for that long is over: retries are at most an hour apart. Said again, it is new."""


@dataclass(frozen=True)
class Incident:
    """Its history: since when, how often it was closed again and paged."""

    since: datetime
    closed_at: datetime | None = None
    tries: int = 0
    pages: int = 0
    paged_at: datetime | None = None
    """When it was paged last."""
    silenced_until: datetime | None = None

    def silenced(self, now: datetime) -> bool:
        """Whether somebody has seen the pages and wants no more of them yet."""
        return self.silenced_until is not None and now < self.silenced_until


def retry_after(tries: int) -> timedelta:
    """The wait after that many closes of a leaked pool: 5 minutes doubled each time, at most an hour."""
    return min(timedelta(minutes=5 * 2 ** min(tries, 4)), LONGEST_RETRY)


def next_page(incident: Incident) -> datetime:
    """When the next page is due: at once, after 15 min, 1 h, 4 h, then daily, counted from the start."""
    pages = incident.pages
    # What an ack kept back is not made up for: one page says it all.
    while incident.paged_at is not None and _page(incident.since, pages) <= incident.paged_at:
        pages += 1
    return _page(incident.since, pages)


def _page(since: datetime, number: int) -> datetime:
    if number < len(PAGES_AFTER):
        return since + PAGES_AFTER[number]
    return since + PAGES_AFTER[-1] + PAGES_EVERY * (number - len(PAGES_AFTER) + 1)


def pages_again(before: Iterable[EarlierBreach], now: datetime) -> bool:
    """Whether what was said before, oldest first, is due to page again now that it is found once more."""
    one: list[EarlierBreach] = []
    for said in before:
        if one and said.at - one[-1].at > QUIET:
            one = []
        one.append(said)
    if not one or now - one[-1].at > QUIET:
        return True
    if now - one[0].at >= PAGES_EVERY:
        return not any(said.paged and now - said.at < PAGES_EVERY for said in one)
    return now >= next_page(Incident(one[0].at, pages=sum(said.paged for said in one)))
