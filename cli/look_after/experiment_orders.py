"""Gives the commands of experiments, and waits for their runs. It asks no terminal and prints nothing.

application/experiments/plans.py decides what an experiment would do.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cli.deployment import Deployment
from cli.nearest import did_you_mean
from cli.use import orders
from lamplighter.application.experiments.plans import plan_of
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.experiments.catalogue import CATALOGUE
from lamplighter.domain.experiments.plan import ExperimentPlan
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.domain.people.person import who
from lamplighter.errors import BadInput, OutsideFailed

LONGEST_SECONDS = 2 * 3600.0
POLL_SECONDS = 2.0


@dataclass(frozen=True)
class StartedExperiment:
    """The decision on a command, and the run that follows where it was granted."""

    decision: Decision
    run: ExperimentRun | None


def plans(deployed: Deployment, pool: str | None = None) -> list[ExperimentPlan]:
    """Every experiment as it would run on the pool now."""
    name = deployed.pool(pool)
    return [plan(deployed, order(deployed, experiment, name)) for experiment in CATALOGUE]


def plan(deployed: Deployment, command: Command) -> ExperimentPlan:
    """What a command to run an experiment would do, or why it would be refused."""
    return plan_of(command, deployed.lab, deployed.ledger, deployed.now)


def order(
    deployed: Deployment, name: str, pool: str, lease: str | None = None, because: str | None = None
) -> Command:
    """The command to run an experiment; BadInput for an unknown name.

    An experiment that would touch another person's lease is sent with the rights of a person who runs the lab.
    """
    if name not in CATALOGUE:
        raise BadInput(
            f"NAME: there is no experiment '{name[:80]}', there are {', '.join(CATALOGUE)}"
            f"{did_you_mean(name, CATALOGUE)}"
        )
    command = orders.order(deployed, Verb.EXPERIMENT, pool)
    command = replace(command, experiment=name, lease=lease, because=because)
    return replace(command, for_lab=plan(deployed, command).answer.run is None)


def run(deployed: Deployment, command: Command) -> StartedExperiment:
    """Give the command, and wait for the decision on it."""
    decision = orders.give(deployed, command)
    under_way = deployed.ledger.experiment_under_way() if decision.outcome == "granted" else None
    return StartedExperiment(decision, under_way)


def restore(deployed: Deployment, name: str | None = None) -> ExperimentRun | None:
    """Undo the experiment that is under way, or the run of that name or id; None where nothing is to be undone.

    Raises OutsideFailed where it is not undone within a minute.
    """
    chosen = _to_restore(deployed, name)
    if chosen is None:
        return None
    command = orders.order(deployed, Verb.RESTORE, chosen.pool)
    command = replace(
        command, experiment=chosen.id, lease=chosen.lease, for_lab=who(chosen.by) != who(command.by)
    )
    orders.start(deployed, command)
    for current in _reads(deployed, chosen.id, orders.DECISION_SECONDS):
        if current.undone:
            return current
    raise OutsideFailed(
        f"the lab accepted the restore of {chosen.id}, but has not undone it after {orders.DECISION_SECONDS} s; "
        f"its schedules and the guard try again, and `lamplighter why {chosen.pool}` shows the outcome"
    )


def _to_restore(deployed: Deployment, name: str | None) -> ExperimentRun | None:
    under_way = deployed.ledger.experiment_under_way()
    if name is None or (under_way is not None and name in {under_way.name, under_way.id}):
        return under_way
    earlier = deployed.ledger.experiment(name)
    if earlier is None and name not in CATALOGUE:
        raise BadInput(
            f"'{name[:80]}' is no experiment and no run, there are {', '.join(CATALOGUE)}; "
            f"`lamplighter experiment report` shows a run{did_you_mean(name, CATALOGUE)}"
        )
    return earlier


def follow(deployed: Deployment, run_id: str, tell: Callable[[ExperimentRun], None]) -> ExperimentRun:
    """Wait for the report of a run, calling `tell` at each new phase. Raises OutsideFailed after two hours."""
    last_phase: ExperimentPhase | None = None
    for current in _reads(deployed, run_id, LONGEST_SECONDS):
        if current.phase is not last_phase:
            last_phase = current.phase
            tell(current)
        if current.phase is ExperimentPhase.PROVEN:
            return current
    raise OutsideFailed(
        f"the run {run_id} has no report after two hours; `lamplighter experiment restore` undoes it"
    )


def report(deployed: Deployment, run_id: str | None = None) -> ExperimentRun:
    """The run of that id, the last run of that experiment, or the last of all; BadInput where there is none."""
    runs = deployed.ledger.experiments()
    for candidate in runs:
        if run_id in {None, candidate.id, candidate.name}:
            return candidate
    if not runs:
        raise BadInput("no experiment has run in this lab yet: `lamplighter experiment list` shows them all")
    known = [candidate.id for candidate in runs]
    raise BadInput(
        f"'{(run_id or '')[:80]}' is no run of an experiment; the last are {', '.join(known[:10])}"
        f"{did_you_mean(run_id or '', known)}"
    )


def _reads(deployed: Deployment, run_id: str, seconds: float) -> Iterator[ExperimentRun]:
    for _ in orders.waiting(seconds, POLL_SECONDS):
        current = deployed.ledger.experiment(run_id)
        if current is not None:
            yield current
