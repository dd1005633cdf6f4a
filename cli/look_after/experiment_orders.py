"""Experiments as plain functions: what there is, what one would do, running it, undoing it, its report.

No terminal is asked and nothing is printed: `lamplighter experiment` and Slack read the same answers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cli.deployment import Deployment
from cli.use import orders
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.experiments.admission import affected, decide, ground
from lamplighter.domain.experiments.catalogue import CATALOGUE, find
from lamplighter.domain.experiments.plan import ExperimentPlan
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.errors import BadInput, OutsideFailed

LONGEST_SECONDS = 2 * 3600.0
POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Begun:
    """A command that was given: the decision on it, and its run where it was granted."""

    decision: Decision
    run: ExperimentRun | None


def plans(found: Deployment, pool: str | None = None) -> list[ExperimentPlan]:
    """Every experiment as it would run on the pool now."""
    name = found.pool(pool)
    return [plan(found, order(found, each, name)) for each in CATALOGUE]


def plan(found: Deployment, command: Command) -> ExperimentPlan:
    """What a command to run an experiment would do, or why it would be refused."""
    leases = {pool: found.ledger.leases(pool) for pool in found.lab.pools}
    here = ground(found.lab, command.pool, leases, found.ledger.experiments())
    experiment = find(command.experiment or "")
    answer = decide(command, here, found.now)
    inside = next(
        (lease for lease in leases[command.pool] if answer.run and lease.id == answer.run.lease), None
    )
    felt = affected(experiment, inside, here, found.now) if inside else []
    return ExperimentPlan(experiment, answer, felt)


def order(
    found: Deployment, name: str, pool: str, lease: str | None = None, because: str | None = None
) -> Command:
    """The command to run an experiment; BadInput where there is none of that name.

    One that would be felt in another's lease is given as somebody who runs the lab.
    """
    find(name)
    made = orders.order(found, Verb.EXPERIMENT, pool)
    made = replace(made, experiment=name, lease=lease, because=because)
    return replace(made, for_lab=plan(found, made).answer.run is None)


def run(found: Deployment, command: Command) -> Begun:
    """Give the command, and wait for the decision on it."""
    decision = orders.give(found, command)
    under_way = found.ledger.experiment_under_way() if decision.outcome == "granted" else None
    return Begun(decision, under_way)


def restore(found: Deployment, name: str | None = None) -> ExperimentRun | None:
    """Undo what is under way, or the run of that name or id; None where there is nothing to undo.

    Raises OutsideFailed when it is not undone within a minute.
    """
    under_way = found.ledger.experiment_under_way()
    if name is not None and (under_way is None or name not in {under_way.name, under_way.id}):
        meant = found.ledger.experiment(name)
        if meant is None and name not in CATALOGUE:
            raise BadInput(
                f"'{name[:80]}' is no experiment and no run, there are {', '.join(CATALOGUE)}; "
                "`lamplighter experiment report` lists the runs"
            )
        if meant is None:
            return None
        under_way = meant
    if under_way is None:
        return None
    made = orders.order(found, Verb.RESTORE, under_way.pool)
    made = replace(made, experiment=under_way.id, lease=under_way.lease, for_lab=under_way.by != made.by)
    orders.start(found, made)
    for now in _looks(found, under_way.id, orders.DECISION_SECONDS):
        if now.undone:
            return now
    raise OutsideFailed(
        f"the restore of {under_way.id} was accepted, but it is not undone after "
        f"{orders.DECISION_SECONDS} s; its schedules and the guard go on, `lamplighter why {under_way.pool}` says how"
    )


def follow(found: Deployment, run_id: str, tell: Callable[[ExperimentRun], None]) -> ExperimentRun:
    """Watch a run to its report, telling of each phase as it comes. Raises OutsideFailed where none comes."""
    told: ExperimentPhase | None = None
    for now in _looks(found, run_id, LONGEST_SECONDS):
        if now.phase is not told:
            told = now.phase
            tell(now)
        if now.phase is ExperimentPhase.PROVEN:
            return now
    raise OutsideFailed(
        f"the run {run_id} has no report after two hours; `lamplighter experiment restore` undoes it"
    )


def report(found: Deployment, run_id: str | None = None) -> ExperimentRun:
    """The run of that id, of that experiment's last, or the last of all; BadInput where there is none."""
    runs = found.ledger.experiments()
    for each in runs:
        if run_id in {None, each.id, each.name}:
            return each
    if not runs:
        raise BadInput(
            "no experiment was run in this lab yet: `lamplighter experiment list` shows those there are"
        )
    known = ", ".join(each.id for each in runs[:10])
    raise BadInput(f"'{(run_id or '')[:80]}' is no run of an experiment; the last are {known}")


def _looks(found: Deployment, run_id: str, seconds: float) -> Iterator[ExperimentRun]:
    for _ in orders.waiting(seconds, POLL_SECONDS):
        now = found.ledger.experiment(run_id)
        if now is not None:
            yield now
