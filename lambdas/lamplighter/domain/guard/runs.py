"""Workflow runs that nothing carries on: an opening that ended before it opened, a closing that never finished.

The lease's state and its fence keep such a run from doing anything later. The guard closes what it left.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import assert_never

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.schedule import RunEnd
from lamplighter.reasons.reason import Reason, reason

OPENING_PATIENCE = timedelta(minutes=10)
"""A run starts within a minute. Asking earlier would only find a run that is at work."""
STARTING_PATIENCE = timedelta(minutes=25)
"""A run that has not started may still start: the planner starts what is overdue."""
SETTLING_PATIENCE = timedelta(minutes=20)
"""From an empty pool to the receipt it is a few steps; their retries are over by then."""
PROVING_PATIENCE = timedelta(minutes=75)
"""Draining, ordering and proving with all their retries."""


def openings(facts: PoolFacts) -> Iterator[Breach]:
    """A lease in force whose opening run is over, so that nothing opens it."""
    for lease in facts.leases:
        ended = facts.opening_ended.get(lease.id)
        if ended is None or not lease.in_force(facts.now):
            continue
        yield Breach(
            Rule.OPENING_ABANDONED,
            _abandoned(lease, ended),
            GuardAction.CLOSE,
            lease=lease.id,
            target=max(0, facts.target.nodes - lease.wanted),
        )


def closings(facts: PoolFacts) -> Iterator[Breach]:
    """A lease that has been closing for so long that no run can still be at it."""
    if facts.incident is not None:
        return
    patience = SETTLING_PATIENCE if facts.empty else PROVING_PATIENCE
    for lease in facts.leases:
        if lease.state is not LeaseState.CLOSING or facts.now < lease.closes + patience:
            continue
        yield Breach(
            Rule.CLOSING_ABANDONED,
            reason("guard.closing-abandoned", lease=lease.called(), pool=facts.pool, since=lease.closes),
            GuardAction.CLOSE,
            lease=lease.id,
            target=facts.target.nodes,
        )


def _abandoned(lease: Lease, ended: RunEnd) -> Reason:
    match ended:
        case RunEnd.FAILED:
            return reason("guard.opening.failed", lease=lease.called(), pool=lease.pool)
        case RunEnd.TIMED_OUT:
            return reason("guard.opening.timed-out", lease=lease.called(), pool=lease.pool)
        case RunEnd.ABORTED:
            return reason("guard.opening.stopped", lease=lease.called(), pool=lease.pool)
        case RunEnd.NEVER_STARTED:
            return reason("guard.opening.never-started", lease=lease.called(), pool=lease.pool)
        case _:
            assert_never(ended)
