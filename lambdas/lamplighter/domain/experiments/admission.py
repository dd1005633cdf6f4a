"""Decides whether an experiment may run: only inside a lease with time for the restore, one at a time in a cluster.

A refusal says what would be right. The experiments function reads the facts and stores the decision.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.domain.commands.command import Command
from lamplighter.domain.experiments.catalogue import CATALOGUE, Experiment, Touches, unknown
from lamplighter.domain.experiments.run import MARGIN, ExperimentPhase, ExperimentRun
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.reasons.reason import Said, reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

PROOF = timedelta(minutes=10)
"""How long the proof of a restored run may keep another run from beginning."""


@dataclass(frozen=True, slots=True)
class ExperimentFacts:
    """The present state of the lab that an experiment would run on."""

    lab: str
    ours: bool
    """Whether the cluster is the lab's own: an adopted cluster is not changed."""
    stack: str
    """What announces the pool's GPUs: operator, device-plugin or built-in."""
    taints: tuple[str, ...]
    """The taints of the pool's nodes, `key=value:effect`."""
    leases: Mapping[str, Sequence[Lease]]
    """All leases, by pool."""
    runs: Sequence[ExperimentRun] = ()
    """Earlier runs, and runs that may still be under way."""


def ground(
    lab: "Lab", pool: str, leases: Mapping[str, Sequence[Lease]], runs: Sequence[ExperimentRun]
) -> ExperimentFacts:
    """The facts from the deployed lab and its ledger."""
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
    """Granted with the new run, or refused with the reason."""

    outcome: str
    reason: Said
    run: ExperimentRun | None = None


def decide(command: Command, ground: ExperimentFacts, now: datetime) -> ExperimentDecision:
    """The decision on a command to run an experiment; its `run` has no `before` yet."""
    experiment = CATALOGUE.get(command.experiment or "")
    if experiment is None:
        return _no(unknown(command.experiment or ""))
    why_not = command.too_old(now, generation=command.generation or 0) or _unfit(
        experiment, command.pool, ground
    )
    if why_not:
        return _no(why_not)
    lease, none = _lease(command, ground, now)
    if lease is None:
        return _no(none)
    others = affected(experiment, lease, ground, now)
    why_not = (
        _not_theirs(command, lease, others)
        or _too_small(experiment, lease)
        or _too_late(experiment, lease, now)
        or busy(ground.runs, now)
    )
    if why_not:
        return _no(why_not)
    run = ExperimentRun(
        id=run_id(command),
        name=experiment.name,
        pool=lease.pool,
        lease=lease.id,
        by=command.by,
        begun=now,
        ends=(now + experiment.lasts).replace(microsecond=0),
        closes=lease.closes,
        phase=ExperimentPhase.PREPARED,
        because=command.because,
        affected=tuple(each.id for each in others),
    )
    return ExperimentDecision(
        "granted",
        reason(
            "experiment.granted", name=experiment.name, pool=lease.pool, until=run.ends, lease=lease.called()
        ),
        run,
    )


def run_id(command: Command) -> str:
    """The id of a command's run: the same command always has the same run."""
    return f"{command.experiment}-{hashlib.sha256(command.id.encode()).hexdigest()[:8]}"


def affected(experiment: Experiment, lease: Lease, ground: ExperimentFacts, now: datetime) -> list[Lease]:
    """The other leases that the experiment affects: all leases of the cluster that overlap it."""
    if not experiment.changes_cluster:
        return []
    over = now + experiment.lasts
    return [
        each
        for leases in ground.leases.values()
        for each in leases
        if each.id != lease.id and each.granted and each.overlaps(now, over)
    ]


def busy(runs: Sequence[ExperimentRun], now: datetime) -> Said | None:
    """Why no other experiment may begin now: a run is under way, or its restore is being proven."""
    for run in runs:
        if not run.undone:
            return reason("experiment.running", name=run.name, pool=run.pool, until=run.ends)
        proving = (
            run.phase is ExperimentPhase.RESTORED and run.restored is not None and now < run.restored + PROOF
        )
        if proving:
            return reason("experiment.being-proven", name=run.name, pool=run.pool)
    return None


def _unfit(experiment: Experiment, pool: str, ground: ExperimentFacts) -> Said | None:
    if pool not in ground.leases:
        return reason("experiment.no-pool", lab=ground.lab, pool=pool, known=tuple(ground.leases))
    if experiment.changes_cluster and not ground.ours:
        free = tuple(name for name, each in CATALOGUE.items() if not each.changes_cluster)
        return reason("experiment.not-ours", name=experiment.name, lab=ground.lab, free=free)
    if experiment.touches is Touches.POLICY and ground.stack != "operator":
        return reason("experiment.needs-operator", name=experiment.name, pool=pool, stack=ground.stack)
    if experiment.name == "taint-mismatch" and not ground.taints:
        return reason("experiment.needs-taint", pool=pool)
    return None


def _lease(command: Command, ground: ExperimentFacts, now: datetime) -> tuple[Lease | None, Said]:
    """The lease inside which the experiment runs; else why there is none."""
    running = [lease for lease in ground.leases[command.pool] if lease.in_force(now)]
    if command.lease is not None:
        running = [lease for lease in running if lease.id == command.lease]
    if not running:
        what = (
            reason("experiment.that-lease", lease=command.lease)
            if command.lease
            else reason("experiment.any-lease", pool=command.pool)
        )
        return None, reason("experiment.needs-lease", lease=what, pool=command.pool)
    mine = [lease for lease in running if lease.is_of(command.by)]
    chosen = mine if len(mine) == 1 else running
    if len(chosen) > 1:
        choices = ", ".join(f"--lease {lease.id}" for lease in chosen)
        return None, reason("experiment.which-lease", pool=command.pool, choices=choices)
    [lease] = chosen
    if lease.state is not LeaseState.OPEN:
        return None, reason("experiment.not-proven-yet", lease=lease.called(), state=lease.stands())
    return lease, ""


def _not_theirs(command: Command, lease: Lease, others: Sequence[Lease]) -> Said | None:
    if command.for_lab:
        return None
    if not lease.is_of(command.by):
        return reason("experiment.of-another", lease=lease.called(), owner=lease.owner)
    foreign = [each for each in others if not each.is_of(command.by)]
    if foreign:
        names = tuple(each.called() for each in foreign)
        last = max(each.closes for each in foreign)
        return reason("experiment.felt-by-others", name=command.experiment or "", leases=names, until=last)
    return None


def _too_small(experiment: Experiment, lease: Lease) -> Said | None:
    there = lease.wanted
    if there >= experiment.needs_nodes:
        return None
    return reason(
        "experiment.needs-nodes",
        name=experiment.name,
        needs=experiment.needs_nodes,
        lease=lease.called(),
        there=there,
        pool=lease.pool,
        missing=experiment.needs_nodes - there,
    )


def _too_late(experiment: Experiment, lease: Lease, now: datetime) -> Said | None:
    needs = experiment.lasts + MARGIN
    left = lease.closes - now
    if left >= needs:
        return None
    more = timedelta(minutes=-(-(needs - left) // timedelta(minutes=1)))
    return reason(
        "experiment.too-late",
        name=experiment.name,
        length=experiment.lasts,
        margin=MARGIN,
        lease=lease.called(),
        closes=lease.closes,
        pool=lease.pool,
        more=more,
    )


def _no(why: Said) -> ExperimentDecision:
    return ExperimentDecision("refused", why)
