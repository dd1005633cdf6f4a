"""Step Report: completes the run in the ledger, and writes the conclusion into the audit trail."""

from collections.abc import Mapping

from lamplighter.application.experiments.services import ExperimentServices, run_of
from lamplighter.application.run import result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.experiments.report import conclusion
from lamplighter.domain.experiments.run import ExperimentPhase
from lamplighter.errors import Stale
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason


def report(run: Mapping[str, object], services: ExperimentServices) -> dict[str, object]:
    """Step Report: the observation, and the proof of the restore. Stale where the run is not restored."""
    kept = run_of(run, services.ledger)
    if kept is None:
        return {"outcome": "nothing", "reason": document(reason("experiment.none-prepared")), "run": None}
    if not kept.undone:
        raise Stale(reason("experiment.not-undone", name=kept.name))
    if kept.phase is ExperimentPhase.PROVEN:
        return {"outcome": "reported", "reason": document(conclusion(kept)), "run": kept.id}
    complete = kept.moved_to(ExperimentPhase.PROVEN, proof=dict(result(run, "ProveRestored")))
    if services.ledger.advance_experiment(complete, {ExperimentPhase.RESTORED}):
        services.ledger.append_audit(
            Entry(
                at=services.now(),
                pool=kept.pool,
                kind="experiment-report",
                who="experiments",
                what=reason("experiment.did", name=kept.name, changes=conclusion(complete)),
                why=kept.experiment.hypothesis,
                lease=kept.lease,
                details={"run": kept.id},
            )
        )
    return {"outcome": "reported", "reason": document(conclusion(complete)), "run": kept.id}
