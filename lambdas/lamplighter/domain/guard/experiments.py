"""Experiments that should be undone by now: their workflow and their schedules had their time.

The guard undoes nothing itself. It starts the workflow that does, and pages, since both earlier ways have failed.
"""

from collections.abc import Iterator
from datetime import timedelta

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.reasons.reason import reason

PATIENCE = timedelta(minutes=5)
"""The workflow restores at the end of the experiment, its schedules two minutes later."""


def experiments(facts: PoolFacts) -> Iterator[Breach]:
    """A run that is not undone although its time is up, or its lease is over or about to end."""
    run = facts.experiment
    if run is None or run.pool != facts.pool:
        return
    lease = next((lease for lease in facts.leases if lease.id == run.lease), None)
    overdue = run.overdue(lease, facts.now)
    if overdue is None:
        return
    in_force = lease is not None and lease.in_force(facts.now)
    if in_force and facts.now < run.due(lease) + PATIENCE:
        return
    yield Breach(
        Rule.EXPERIMENT_OVERDUE,
        reason("guard.experiment-overdue", name=run.name, pool=run.pool, why=overdue),
        GuardAction.RESTORE,
        lease=run.lease,
        since=run.due(lease),
    )
