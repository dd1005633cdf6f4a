"""When a pool is free: the stretches in which a lease of one length would be granted, as far as it is known now.

Each start is judged by the rule of every grant (grant.py), with the windows that are planned but not yet decided.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from lamplighter.domain.calendar.changes import Pause, paused_at
from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting import grant
from lamplighter.domain.leases import allowance
from lamplighter.domain.leases.curfew import KEPT_FREE
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Period
from lamplighter.values import instant

_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
_EVEN = datetime(2000, 1, 1, tzinfo=UTC)
MOST_OFFERED = 3


class FreeTime(NamedTuple):
    """A lease of the length that was asked for is granted wherever it fits into [begins, ends)."""

    pool: str
    begins: datetime
    ends: datetime


@dataclass(frozen=True, slots=True)
class PoolAhead:
    """What is known of a pool's time ahead."""

    terms: Terms
    leases: Sequence[Lease]
    """With the planned ones."""
    budgets: Mapping[str, BudgetPeriod]
    """Those of all `periods` of the range, by their keys."""
    pauses: Sequence[Pause]


def free_times(wish: Command, ahead: PoolAhead, since: datetime, until: datetime) -> list[FreeTime]:
    """The stretches of [since, until) in which an open command with this length is granted, to the second."""
    terms, length = ahead.terms, wish.lasting or ahead.terms.default
    if length > terms.longest:
        return []
    since, last = since.replace(microsecond=0), until - length

    def granted(opens: datetime) -> bool:
        lease = grant.asked_for(replace(wish, opens=opens, closes=None), terms, since)
        # A lease that a curfew cuts short is not the one that was asked for.
        whole = lease.closes - lease.opens == length and paused_at(ahead.pauses, opens) is None
        if not whole or not grant.possible(lease, terms, ahead.leases, ahead.budgets, since):
            return False
        beyond = allowance.refusal(wish.allowance, wish.by, lease, ahead.leases, since=opens)
        return (beyond or allowance.too_many_ahead(wish.by, lease, ahead.leases, terms, wish.issued)) is None

    # At each of these instants the answer may change, and once more right after it: a lease that ends when the next
    # one begins still fits.
    changes = _changes(length, ahead, since, last)
    found: list[FreeTime] = []
    begun: datetime | None = None
    for start in sorted({start for at in changes for start in (at, at + _SECOND) if start <= last}):
        if not granted(start):
            if begun is not None:
                found.append(FreeTime(wish.pool, begun, start - _SECOND + length))
            begun = None
        elif begun is None:
            begun = start
    return found if begun is None else [*found, FreeTime(wish.pool, begun, until)]


def offered(found: Sequence[FreeTime], length: timedelta) -> list[FreeTime]:
    """The next times to offer, each exactly as long as the lease and from a whole minute on, as a label says it."""
    starts = ((one, from_whole(_MINUTE, one.begins)) for one in found)
    fit = [FreeTime(one.pool, opens, opens + length) for one, opens in starts if opens + length <= one.ends]
    return fit[:MOST_OFFERED]


def from_whole(step: timedelta, at: datetime) -> datetime:
    """The first instant from `at` on that is a whole minute, or a whole five minutes of the hour, and so on."""
    return at + (_EVEN - at) % step


def written(free: Sequence[FreeTime]) -> str:
    """The times as one text, for an entry of the trail."""
    return " ".join(f"{instant.written(one.begins)}/{instant.written(one.ends)}" for one in free)


def read(pool: str, text: str) -> list[FreeTime]:
    """Reads what `written` wrote."""
    return [FreeTime(pool, *map(instant.read, one.split("/"))) for one in text.split()]


def _changes(length: timedelta, ahead: PoolAhead, since: datetime, last: datetime) -> list[datetime]:
    """The starts in [since, last] at which the answer may change, in order."""
    at, curfews = {since}, ahead.terms.curfew
    for lease in ahead.leases:
        at |= {lease.opens - length, lease.opens, lease.closes}
    at |= {terms.hours.begins} if (terms := ahead.terms).hours and terms.hours.begins else set()
    at |= {terms.reserved_until - length} if terms.reserved_until else set()
    at |= {pause.until for pause in ahead.pauses if pause.until is not None}
    at |= {period.begins for period in periods(ahead.terms, since, last)}
    opens = since
    while curfews and (curfew := curfews.first(opens, last + length + _SECOND)) is not None:
        at |= {curfew - length, curfew, curfew + KEPT_FREE}
        opens = curfew + KEPT_FREE
    whole = {instant.replace(microsecond=0) for instant in at}
    return sorted(instant for instant in whole if since <= instant <= last)


def periods(terms: Terms, since: datetime, until: datetime) -> Iterator[Period]:
    """The periods of the budget that [since, until) meets, in order."""
    period = terms.period(since)
    yield period
    while period.ends < until:
        period = terms.period(period.ends)
        yield period
