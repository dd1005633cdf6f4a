"""Who may run which experiment when: only inside a lease with time left for the restore, one at a time a cluster.

Decides, with a reason that says what would be right. Reading the facts and keeping the answer is the
experiments function's.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.domain.commands.command import Command
from lamplighter.domain.experiments.catalogue import CATALOGUE, Experiment, Touches
from lamplighter.domain.experiments.run import MARGIN, ExperimentPhase, ExperimentRun
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.values import instant
from lamplighter.values.counted import counted, write_duration

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

PROOF = timedelta(minutes=10)
"""How long a restored run may still be at its proof before another may begin."""


@dataclass(frozen=True, slots=True)
class ExperimentFacts:
    """What an experiment would be run on, as it is now."""

    lab: str
    ours: bool
    """Whether the cluster is the lab's own: nothing is changed of one that is adopted."""
    stack: str
    """What announces the pool's GPUs: operator, device-plugin or built-in."""
    taints: tuple[str, ...]
    """The taints of the pool's nodes, `key=value:effect`."""
    leases: Mapping[str, Sequence[Lease]]
    """By pool, all there are."""
    runs: Sequence[ExperimentRun] = ()
    """What was run before, and what may still be running."""


def ground(
    lab: "Lab", pool: str, leases: Mapping[str, Sequence[Lease]], runs: Sequence[ExperimentRun]
) -> ExperimentFacts:
    """What the deployed lab and its ledger say of it."""
    known = lab.pools.get(pool)
    return ExperimentFacts(
        lab=lab.name,
        ours=lab.cluster.existing is None,
        stack=lab.gpu_stack(pool) if known else "operator",
        taints=tuple(map(str, known.taints)) if known else (),
        leases=leases,
        runs=runs,
    )


@dataclass(frozen=True, slots=True)
class ExperimentDecision:
    """Granted with the run that follows, or refused with the reason."""

    outcome: str
    reason: str
    run: ExperimentRun | None = None


def decide(command: Command, ground: ExperimentFacts, now: datetime) -> ExperimentDecision:
    """The answer to a command to run an experiment; `run` has no `before` yet."""
    experiment = CATALOGUE.get(command.experiment or "")
    if experiment is None:
        return _no(f"'{(command.experiment or '')[:80]}' is no experiment, there are {', '.join(CATALOGUE)}")
    why_not = command.too_old(now, generation=command.generation or 0) or _unfit(
        experiment, command.pool, ground
    )
    if why_not:
        return _no(str(why_not))
    lease, why_not = _lease(command, ground, now)
    if lease is None:
        return _no(str(why_not))
    others = affected(experiment, lease, ground, now)
    why_not = (
        _not_theirs(command, lease, others)
        or _too_small(experiment, lease)
        or _too_late(experiment, lease, now)
        or busy(ground.runs, now)
    )
    if why_not:
        return _no(str(why_not))
    run = ExperimentRun(
        id=run_id(command),
        name=experiment.name,
        pool=lease.pool,
        lease=lease.id,
        by=command.by,
        begun=now,
        ends=(now + experiment.lasts).replace(microsecond=0),
        closes=lease.closes,
        because=None if command.because is None else str(command.because),
        affected=tuple(each.id for each in others),
    )
    return ExperimentDecision(
        "granted",
        f"{experiment.name} runs on pool {lease.pool} until {instant.clock_time(run.ends)} at the latest, "
        f"inside {lease.called()}",
        run,
    )


def run_id(command: Command) -> str:
    """The run that a command makes: the same command is always the same run."""
    return f"{command.experiment}-{hashlib.sha256(command.id.encode()).hexdigest()[:8]}"


def affected(experiment: Experiment, lease: Lease, ground: ExperimentFacts, now: datetime) -> list[Lease]:
    """The other leases that feel it: all of the cluster that are in force before it is over."""
    if not experiment.changes_cluster:
        return []
    over = now + experiment.lasts
    return [
        each
        for leases in ground.leases.values()
        for each in leases
        if each.id != lease.id and each.granted and each.overlaps(now, over)
    ]


def busy(runs: Sequence[ExperimentRun], now: datetime) -> str | None:
    """Why no other experiment may begin now: one is under way, or still being proven undone."""
    for run in runs:
        if not run.undone:
            return (
                f"{run.name} is running on pool {run.pool} until {instant.clock_time(run.ends)} at the latest, "
                f"and a cluster has one experiment at a time; ask again then, or end it: "
                f"lamplighter experiment restore {run.name}"
            )
        proving = (
            run.phase is ExperimentPhase.RESTORED and run.restored is not None and now < run.restored + PROOF
        )
        if proving:
            return f"{run.name} on pool {run.pool} is undone and its checks still run; ask again in a few minutes"
    return None


def _unfit(experiment: Experiment, pool: str, ground: ExperimentFacts) -> str | None:
    if pool not in ground.leases:
        return f"the lab {ground.lab} has no pool {pool}, it has {', '.join(ground.leases)}"
    if experiment.changes_cluster and not ground.ours:
        free = ", ".join(name for name, each in CATALOGUE.items() if not each.changes_cluster)
        return (
            f"{experiment.name} changes the cluster, and the cluster of lab {ground.lab} is not its own: nothing "
            f"is changed there but the desired size. What changes nothing may be run: {free}"
        )
    if experiment.touches is Touches.POLICY and ground.stack != "operator":
        return (
            f"{experiment.name} changes the GPU Operator's ClusterPolicy, and the GPUs of pool {pool} come from "
            f"the {ground.stack} stack: choose a pool whose GPUs the operator announces"
        )
    if experiment.name == "taint-mismatch" and not ground.taints:
        return f"the nodes of pool {pool} have no taint that a toleration could miss: give the pool one first"
    return None


def _lease(command: Command, ground: ExperimentFacts, now: datetime) -> tuple[Lease | None, str]:
    """The lease inside which it runs; else why there is none."""
    running = [lease for lease in ground.leases[command.pool] if lease.in_force(now)]
    if command.lease is not None:
        running = [lease for lease in running if lease.id == command.lease]
    if not running:
        what = f"the lease {command.lease}" if command.lease else f"any lease of pool {command.pool}"
        return None, (
            f"an experiment runs only inside a lease, and {what} is not in force: "
            f"lamplighter open {command.pool} 2 for 1h"
        )
    mine = [lease for lease in running if lease.is_of(command.by)]
    chosen = mine if len(mine) == 1 else running
    if len(chosen) > 1:
        return None, (
            f"pool {command.pool} has several leases, say inside which one it runs: "
            f"{' or '.join(f'--lease {lease.id}' for lease in chosen)}"
        )
    [lease] = chosen
    if lease.state is not LeaseState.OPEN:
        return None, (
            f"the GPUs of {lease.called()} are not proven yet, it is {lease.state}: an experiment compares with "
            "a healthy pool, so ask again when it is open"
        )
    return lease, ""


def _not_theirs(command: Command, lease: Lease, others: Sequence[Lease]) -> str | None:
    if command.for_lab:
        return None
    if not lease.is_of(command.by):
        return (
            f"{lease.called()} is {lease.owner}'s: its owner may run experiments in it, or who runs the lab"
        )
    foreign = [each for each in others if not each.is_of(command.by)]
    if foreign:
        names = " and ".join(str(each.called()) for each in foreign)
        last = max(each.closes for each in foreign)
        return (
            f"{command.experiment} is felt in all of the cluster, and {names} would feel it too: ask who runs the "
            f"lab, or wait until {instant.clock_time(last)}"
        )
    return None


def _too_small(experiment: Experiment, lease: Lease) -> str | None:
    there = lease.wanted
    if there >= experiment.needs_nodes:
        return None
    return (
        f"{experiment.name} needs {counted(experiment.needs_nodes, 'node')}, and {lease.called()} has "
        f"{there}: lamplighter open {lease.pool} {experiment.needs_nodes - there} --add"
    )


def _too_late(experiment: Experiment, lease: Lease, now: datetime) -> str | None:
    needs = experiment.lasts + MARGIN
    left = lease.closes - now
    if left >= needs:
        return None
    more = timedelta(minutes=-(-(needs - left) // timedelta(minutes=1)))
    return (
        f"{experiment.name} takes {write_duration(experiment.lasts)}, everything must be as before "
        f"{write_duration(MARGIN)} ahead of the lease's end, and {lease.called()} ends at "
        f"{instant.clock_time(lease.closes)}: lamplighter extend {lease.pool} {write_duration(more)}"
    )


def _no(reason: str) -> ExperimentDecision:
    return ExperimentDecision("refused", reason)
