"""Runs that nobody carries on: an opening that ended before it opened, a closing that never came to its end.

Their fence and the lease's state keep such a run from doing anything later; the guard closes what it left.
"""

from collections.abc import Iterator
from datetime import timedelta

from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.values.instant import clock_time

OPENING_PATIENCE = timedelta(minutes=10)
"""A run is started within a minute; asking for it earlier would only ask about one that is at work."""
STARTING_PATIENCE = timedelta(minutes=25)
"""A run that was not started at all may still be: the planner starts what is overdue."""
SETTLING_PATIENCE = timedelta(minutes=20)
"""From an empty pool to the receipt it is a few steps; their retries are over by then."""
PROVING_PATIENCE = timedelta(minutes=75)
"""Draining, ordering and proving with all their retries."""


def openings(facts: PoolFacts) -> Iterator[Breach]:
    """A lease in force whose opening run is over, and that nobody opens any more."""
    for lease in facts.leases:
        ended = facts.opening_ended.get(lease.id)
        if ended is None or not lease.in_force(facts.now):
            continue
        yield Breach(
            Rule.OPENING_ABANDONED,
            f"the run that should open {lease.called()} on pool {facts.pool} {ended}, "
            "and nobody carries it on",
            Action.CLOSE,
            lease=lease.id,
            target=max(0, facts.target.nodes - lease.wanted),
        )


def closings(facts: PoolFacts) -> Iterator[Breach]:
    """A lease that is being closed for so long that no run can still be at it."""
    if facts.incident is not None:
        return
    patience = SETTLING_PATIENCE if facts.empty else PROVING_PATIENCE
    for lease in facts.leases:
        if lease.state is not LeaseState.CLOSING or facts.now < lease.closes + patience:
            continue
        yield Breach(
            Rule.CLOSING_ABANDONED,
            f"{lease.called()} on pool {facts.pool} is being closed since {clock_time(lease.closes)}, "
            "and nobody carries it on",
            Action.CLOSE,
            lease=lease.id,
            target=facts.target.nodes,
        )
