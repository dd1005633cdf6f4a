"""Report: the run is complete in the ledger, and the trail says in one sentence what it showed."""

from collections.abc import Mapping

from lamplighter.application.experiments.bench import Bench, run_of
from lamplighter.application.run import result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.experiments.report import conclusion
from lamplighter.domain.experiments.run import Phase
from lamplighter.errors import Stale


def report(run: Mapping[str, object], bench: Bench) -> dict[str, object]:
    """Step Report: what was seen, and the proof that it is undone; Stale for a run that is not undone."""
    kept = run_of(run, bench.ledger)
    if kept is None:
        return {"outcome": "nothing", "reason": "no experiment was prepared", "run": None}
    if not kept.undone:
        raise Stale(f"{kept.name} is not undone: its schedules and the guard go on")
    if kept.phase is Phase.PROVEN:
        return {"outcome": "reported", "reason": conclusion(kept), "run": kept.id}
    complete = kept.moved_to(Phase.PROVEN, proof=dict(result(run, "ProveRestored")))
    if bench.ledger.advance_experiment(complete, {Phase.RESTORED}):
        bench.ledger.append_audit(
            Entry(
                at=bench.now(),
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
