"""The dependencies of the experiment steps: lab, ledger, security groups, schedules and cluster."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.adapters.aws.capacity.security_groups import SecurityGroups
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.schedules import Schedules
from lamplighter.adapters.kubernetes.connection import connect
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab
from lamplighter.application.experiments.diagnosis import diagnosed
from lamplighter.application.run import command_of
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.experiments.admission import run_id
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.leases.lease import Lease

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection
    from lamplighter.lab.model import Lab

OF_NODES, AUXILIARY = "{lab}-node", "{lab}-node-group-sg"
"""The names that the cluster stack gives the two groups of the nodes."""


@dataclass
class ExperimentServices:
    """One lab, and the services that its experiments use."""

    lab: "Lab"
    ledger: Ledger
    groups: SecurityGroups
    schedules: Schedules
    workflow: str
    """The ARN of the experiment workflow, which the schedules start."""
    connect: Callable[[], "Connection"]
    diagnose: Callable[[ExperimentRun], Mapping[str, object]]
    """The findings about the run's pool since the change, as `diagnose --json` prints them."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return clock.now()

    def lease_of(self, run: ExperimentRun) -> Lease | None:
        """The lease of a run, from the ledger."""
        return self.ledger.lease(run.pool, run.lease)

    def group_ids(self) -> tuple[str, str] | None:
        """The ids of the nodes' and the auxiliary security group; None where the lab has none."""
        node, auxiliary = (name.format(lab=self.lab.name) for name in (OF_NODES, AUXILIARY))
        found = self.groups.named(self.lab.name, (node, auxiliary))
        return (found[node], found[auxiliary]) if {node, auxiliary} <= found.keys() else None


@cache
def services() -> ExperimentServices:
    """The services for the lab that this function belongs to."""
    ledger = Ledger(ENVIRONMENT.ledger_table)
    return ExperimentServices(
        lab=as_kept(lab(), ledger),
        ledger=ledger,
        groups=SecurityGroups(),
        schedules=Schedules(ENVIRONMENT.schedule_group, ENVIRONMENT.restore_role, ENVIRONMENT.dead_letters),
        workflow=ENVIRONMENT.experiment_workflow,
        connect=_connection,
        diagnose=_diagnose,
    )


def run_of(run: Mapping[str, object], ledger: Ledger) -> ExperimentRun | None:
    """The run of a command, from the ledger; None where there is none."""
    command = command_of(run)
    if command.verb is Verb.EXPERIMENT:
        return ledger.experiment(run_id(command))
    named = command.experiment
    if named is None:
        return ledger.experiment_under_way()
    under_way = ledger.experiment_under_way()
    if under_way is not None and named == under_way.name:
        return under_way
    return ledger.experiment(named)


@cache
def _connection() -> "Connection":

    return connect(ENVIRONMENT.cluster_name)


def _diagnose(run: ExperimentRun) -> Mapping[str, object]:

    return diagnosed(run)
