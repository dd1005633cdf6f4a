"""Steps Change and Restore: injects the fault, and reverts it, whatever an earlier try did.

Change needs armed schedules, and checks the run again afterwards: where the run was restored meanwhile, it reverts its
change at once. Restore compares with the present state, so it may run any number of times.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from lamplighter.application.experiments.probes import clean_up
from lamplighter.application.experiments.services import ExperimentServices, run_of
from lamplighter.application.run import command_of
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.experiments import policy as policies
from lamplighter.domain.experiments.catalogue import Touches
from lamplighter.domain.experiments.rails import before_rules, names, rails
from lamplighter.domain.experiments.rules import missing
from lamplighter.domain.experiments.run import UNDONE, ExperimentPhase, ExperimentRun
from lamplighter.domain.schedules.schedule import NEAREST
from lamplighter.errors import OutsideFailed, Stale, TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Said, Sentences, reason

_logger = logging.getLogger(__name__)
NOT_UNDONE = frozenset(ExperimentPhase) - UNDONE


def change(run: Mapping[str, object], services: ExperimentServices) -> dict[str, object]:
    """Step Change: make the change. Stale where the run is over; OutsideFailed where its schedules do not exist."""
    kept = run_of(run, services.ledger)
    if kept is None:
        raise Stale(reason("experiment.not-kept"))
    if kept.phase is not ExperimentPhase.PREPARED and not kept.undone:
        return {"changed": [document(each) for each in kept.change], "outcome": "changed"}
    _may_still_change(kept, services)
    made = _make(kept, services)
    changed = kept.moved_to(ExperimentPhase.CHANGED, changed=services.now(), change=tuple(made))
    if not services.ledger.advance_experiment(changed, {ExperimentPhase.PREPARED}):
        # The run was restored meanwhile: revert this change too.
        put_back(kept, services)
        raise Stale(reason("experiment.undone-meanwhile", name=kept.name))
    changes = Sentences(tuple(made)) if made else reason("experiment.only-a-pod")
    did = reason("experiment.did", name=kept.name, changes=changes)
    _write_down(kept, services, "experiment", kept.by, did, kept.experiment.hypothesis)
    return {"changed": [document(each) for each in made], "outcome": "changed"}


def restore(run: Mapping[str, object], services: ExperimentServices) -> dict[str, object]:
    """Step Restore: revert the changes and verify it; TryLater until everything is as before."""
    kept = run_of(run, services.ledger)
    if kept is None:
        none = document(reason("experiment.none-under-way"))
        return {"outcome": "nothing", "reason": none, "run": None, "put_back": []}
    done = put_back(kept, services)
    _clean_up(kept, services)
    command = command_of(run)
    restored = kept.moved_to(ExperimentPhase.RESTORED, restored=services.now(), restored_by=command.by)
    first = not kept.undone and services.ledger.advance_experiment(restored, NOT_UNDONE)
    if first or done:
        reverted = Sentences(tuple(done)) if done else reason("experiment.as-before-already")
        undid = reason("experiment.undid", name=kept.name, put_back=reverted)
        why = command.because or reason("experiment.observation-over")
        _write_down(kept, services, "experiment-restored", command.by, undid, why)
    services.schedules.delete(names(kept))
    return {
        "outcome": "restored",
        "reason": document(reason("experiment.is-undone", name=kept.name)),
        "run": kept.id,
        "put_back": [document(each) for each in done],
    }


def _write_down(  # noqa: PLR0917 -- the parts of an entry
    run: ExperimentRun, services: ExperimentServices, kind: str, who: str, what: Said, why: Said
) -> None:
    services.ledger.append_audit(
        Entry(services.now(), run.pool, kind, who, what, why, run.lease, details={"run": run.id})
    )


def _clean_up(run: ExperimentRun, services: ExperimentServices) -> None:
    """Delete the run's pods. Where Kubernetes does not answer they stay for later; the restore goes on."""
    try:
        clean_up(run, services)
    except (OutsideFailed, TryLater) as error:
        _logger.warning("pods of %s may be left: %s", run.id, error)


def put_back(run: ExperimentRun, services: ExperimentServices) -> list[Said]:
    """Revert what differs from before the run, and verify it; returns what was reverted."""
    match run.experiment.touches:
        case Touches.RULES:
            return _put_rules_back(run, services)
        case Touches.POLICY:
            from lamplighter.application.experiments.policy import give_back  # noqa: PLC0415 -- only where it matters

            return give_back(run, services)
        case Touches.NOTHING:
            return []


def _put_rules_back(run: ExperimentRun, services: ExperimentServices) -> list[Said]:
    before = before_rules(run.before)
    groups = sorted({rule.group for rule in before})
    gone = missing(before, services.groups.rules(groups))
    for rule in gone:
        services.groups.give(rule)
    if gone and missing(before, services.groups.rules(groups)):
        raise TryLater(reason("experiment.rules-not-back", name=run.name))
    return [rule.said() for rule in gone]


def _may_still_change(run: ExperimentRun, services: ExperimentServices) -> None:
    lease, now = services.lease_of(run), services.now()
    if run.undone:
        raise Stale(reason("experiment.undone-already", name=run.name))
    overdue = run.overdue(lease, now)
    if overdue or lease is None:
        raise Stale(reason("experiment.not-begun", name=run.name, why=overdue or ""))
    for rail in rails(run, services.workflow, lease.closes):
        if rail.at > now + NEAREST and services.schedules.read(rail.name) is None:
            raise OutsideFailed(
                reason(
                    "experiment.no-rail",
                    call="scheduler:GetSchedule",
                    rail=f"{services.schedules.group}/{rail.name}",
                )
            )


def _make(run: ExperimentRun, services: ExperimentServices) -> list[Said]:
    match run.experiment.touches:
        case Touches.RULES:
            rules = before_rules(run.before)
            for rule in rules:
                services.groups.take(rule)
            left = len(rules) - len(missing(rules, services.groups.rules({rule.group for rule in rules})))
            if left:
                raise TryLater(reason("experiment.rules-still-there", left=left, name=run.name))
            return [reason("experiment.rule-taken", rule=rule.said()) for rule in rules]
        case Touches.POLICY:
            from lamplighter.application.experiments.policy import borrow  # noqa: PLC0415 -- only where it matters

            fields = policies.changes(run.name, services.lab.pools[run.pool].taints)
            borrow(run, services)
            return policies.becomes(fields)
        case Touches.NOTHING:
            return []


def seen(run: ExperimentRun, services: ExperimentServices, look: Mapping[str, object]) -> bool:
    """Store the observation; False where the run was restored meanwhile."""
    observed = replace(run, phase=ExperimentPhase.OBSERVED, seen=look)
    return services.ledger.advance_experiment(observed, {ExperimentPhase.CHANGED, ExperimentPhase.OBSERVED})
