"""Experiments that should be undone by now: their workflow and their schedules had their time.

The guard undoes nothing itself: it starts the workflow that does, and pages, since two rails have failed.
"""

from collections.abc import Iterator
from datetime import timedelta

from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.facts import PoolFacts

PATIENCE = timedelta(minutes=5)
"""The workflow restores at the end itself, its schedules two minutes later."""


def experiments(facts: PoolFacts) -> Iterator[Breach]:
    """A run whose time is up, or whose lease is over or ends in a moment, and that is not undone."""
    run = facts.experiment
    if run is None or run.pool != facts.pool:
        return
    lease = next((each for each in facts.leases if each.id == run.lease), None)
    overdue = run.overdue(lease, facts.now)
    if overdue is None:
        return
    inside = lease is not None and lease.in_force(facts.now)
    if inside and facts.now < run.due(lease) + PATIENCE:
        return
    yield Breach(
        Rule.EXPERIMENT_OVERDUE,
        f"the experiment {run.name} on pool {run.pool} is not undone: {overdue}",
        Action.RESTORE,
        lease=run.lease,
        since=run.due(lease),
    )
