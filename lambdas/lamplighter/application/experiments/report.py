"""Report: the run is complete in the ledger, and the trail says in one sentence what it showed."""

from collections.abc import Mapping

from lamplighter.application.experiments.services import ExperimentServices, run_of
from lamplighter.application.run import result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.experiments.report import conclusion
from lamplighter.domain.experiments.run import ExperimentPhase
from lamplighter.errors import Stale


def report(run: Mapping[str, object], services: ExperimentServices) -> dict[str, object]:
    """Step Report: what was seen, and the proof that it is undone; Stale for a run that is not undone."""
    kept = run_of(run, services.ledger)
    if kept is None:
        return {"outcome": "nothing", "reason": "no experiment was prepared", "run": None}
    if not kept.undone:
        raise Stale(f"{kept.name} is not undone: its schedules and the guard go on")
    if kept.phase is ExperimentPhase.PROVEN:
        return {"outcome": "reported", "reason": conclusion(kept), "run": kept.id}
    complete = kept.moved_to(ExperimentPhase.PROVEN, proof=dict(result(run, "ProveRestored")))
    if services.ledger.advance_experiment(complete, {ExperimentPhase.RESTORED}):
        services.ledger.append_audit(
            Entry(
                at=services.now(),
                pool=kept.pool,
                kind="experiment-report",
                who="experiments",
                what=f"{kept.name}: {conclusion(complete)}",
                why=kept.experiment.hypothesis,
                lease=kept.lease,
                details={"run": kept.id},
            )
        )
    return {"outcome": "reported", "reason": conclusion(complete), "run": kept.id}
