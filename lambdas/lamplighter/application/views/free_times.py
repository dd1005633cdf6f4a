"""Reads what says when pools are free: leases, planned windows, pauses and money.

domain/granting/free_times.py decides.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.kept_courses import beside
from lamplighter.adapters.aws.known_prices import known_prices, known_terms
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.granting import free_times, outlook
from lamplighter.domain.granting.free_times import FreeTime, PoolAhead
from lamplighter.domain.granting.grant import FURTHEST_AHEAD
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.planner.live import Deployed
from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

_logger = logging.getLogger(__name__)
A_WEEK = timedelta(days=7)
"""The range where nobody names its end."""
SOON = timedelta(minutes=5)
"""Nothing nearer is offered, and first times are whole five minutes: people read before they press."""
FURTHEST = timedelta(weeks=8)
"""The longest range: each start in it is judged, and each period of the budget is read."""


def deployed_lab(lab: "Lab", ledger: Ledger) -> Deployed:
    """The lab with its leases, changes by people, the last read of its course calendars, and measured warm-ups."""
    leases = {pool: ledger.leases(pool) for pool in lab.pools}
    skips, pauses = ledger.skips_and_pauses()
    return Deployed(
        lab=lab,
        terms=known_terms(lab, known_prices(lab, ledger), ledger),
        leases=[lease for of_pool in leases.values() for lease in of_pool],
        skips=skips,
        pauses=pauses,
        beside=beside(lab, ledger, leases),
    )


def asked_range(
    begins: datetime | None, ends: datetime | None, now: datetime
) -> tuple[datetime, datetime] | None:
    """The range that words ask for, from now on and a week by default; None where it begins too far ahead."""
    since = max(begins or now, now)
    return None if since - now > FURTHEST_AHEAD else (since, ends or since + A_WEEK)


def read(
    lab: "Lab", ledger: Ledger, wishes: Iterable[Command], since: datetime, until: datetime, *, now: datetime
) -> list[FreeTime]:
    """The free times of each wish's pool within [since, until), earliest first. A pool without a price has none.

    No lease is granted too far ahead of now, so none is promised there.
    """
    until = min(until, now + FURTHEST_AHEAD)
    known, currency = deployed_lab(lab, ledger), lab.guard.budget.currency
    keys = {
        period.key for terms in known.terms.values() for period in free_times.periods(terms, since, until)
    }
    budgets = {key: ledger.budget(key, currency) for key in sorted(keys)}
    stand = [lease for lease in known.leases if lease.state is not LeaseState.PLANNED]
    ahead = [lease for lease in known.ahead(since, until, since) if lease.period in budgets]
    refused = outlook.refusals(ahead, [lease for lease in stand if lease.granted], known.terms, budgets)
    leases = [*stand, *(lease for lease in ahead if lease.id not in refused)]
    found: list[FreeTime] = []
    for wish in wishes:
        if wish.pool in known.terms:
            there = [lease for lease in leases if lease.pool == wish.pool]
            pool = PoolAhead(known.terms[wish.pool], there, budgets, known.pauses)
            found += free_times.free_times(wish, pool, since, until)
    return sorted(found, key=attrgetter("begins", "pool"))


def next_free(lab: "Lab", ledger: Ledger, wish: Command, now: datetime) -> Sequence[FreeTime] | None:
    """The next three times within a week at which a lease like this one would be granted beside the others.

    None where that cannot be found out now: an answer must not fail for what it offers beside.
    """
    wish = replace(wish, opens=None, closes=None, lasting=wish.length or lab.guard.default_lease, add=True)
    since = free_times.from_whole(SOON, now + SOON)
    try:
        found = read(lab, ledger, [wish], since, since + A_WEEK, now=now)
    except LamplighterError as error:
        _logger.warning("the free times are not known: %s", error)
        return None
    return free_times.offered(found, wish.lasting or lab.guard.default_lease)


def after_refusal(
    decision: Decision, command: Command, lab: "Lab", ledger: Ledger, now: datetime
) -> Sequence[FreeTime] | None:
    """What to offer in place of a refused opening, where it is known; nothing after any other decision."""
    refused = decision.outcome == "refused" and command.verb is Verb.OPEN
    return next_free(lab, ledger, command, now) if refused else ()
