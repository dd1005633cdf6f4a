"""Undoes the experiment of a lease that ends, or that ends sooner, before its end.

The experiments function does it and is waited for; what it cannot do now, its schedules and the guard go on with.
"""

import logging
from collections.abc import Collection, Iterable

from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.experiments.rails import GOOD_FOR
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import LamplighterError
from lamplighter.reasons.reason import Said, reason

_logger = logging.getLogger(__name__)


def undone_before_the_end(
    leases: Iterable[Lease], command: Command, done: Collection[str], lease_services: LeaseServices
) -> list[str]:
    """Undoes all runs of leases that are about to end, also those that are marked undone; returns their ids.

    A change that came late is found here at the latest.
    """
    ending = {lease.id: lease for lease in leases}
    if not ending:
        return []
    restored = []
    for run in lease_services.ledger.experiments():
        if run.lease not in ending or run.id in done:
            continue
        because = reason("experiment.lease-ends", lease=ending[run.lease].called())
        try:
            lease_services.ask_experiments(_event("Restore", run, command, lease_services, because))
        except LamplighterError as error:
            _logger.warning("%s is not undone: %s", run.id, error)
            _say(run, reason("experiment.not-undone-at-end", error=error.said), lease_services)
            continue
        restored.append(run.id)
    return restored


def experiment_follows(lease: Lease, command: Command, lease_services: LeaseServices) -> None:
    """A lease ends sooner: moves the schedules of its experiment, or undoes the experiment at once."""
    run = lease_services.ledger.experiment_under_way()
    if run is None or run.lease != lease.id:
        return
    because = reason("experiment.lease-ends-at", lease=lease.called(), closes=lease.closes)
    try:
        lease_services.ask_experiments(_event("Rearm", run, command, lease_services, because))
    except LamplighterError as error:
        _logger.warning("the schedules of %s are left where they were: %s", run.id, error)
        _say(run, reason("experiment.rails-stay", error=error.said), lease_services)


def _event(
    step: str, run: ExperimentRun, command: Command, lease_services: LeaseServices, because: Said
) -> dict[str, object]:
    now = lease_services.now()
    order = Command(
        id=f"{command.id}-{run.id}",
        verb=Verb.RESTORE,
        pool=run.pool,
        owner=command.owner,
        by=command.by,
        source=command.source,
        issued=now,
        expires=now + GOOD_FOR,
        lease=run.lease,
        experiment=run.id,
        because=because,
    )
    return {"step": step, "run": {"command": order.to_json(), "results": {}}}


def _say(run: ExperimentRun, why: Said, lease_services: LeaseServices) -> None:
    lease_services.ledger.append_audit(
        Entry(
            at=lease_services.now(),
            pool=run.pool,
            kind="experiment-not-restored",
            who="leases",
            what=reason("experiment.undo-failed", name=run.name),
            why=why,
            lease=run.lease,
            details={"run": run.id},
        )
    )
