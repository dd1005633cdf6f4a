"""Change and Restore: puts the fault in, and takes it out again, whatever was done before and by whom.

A change is made only behind armed rails, and looked at again afterwards: one that comes when its run is undone
already is undone at once. Restoring compares with what is there, so that it may run any number of times.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from lamplighter.application.experiments.bench import Bench, run_of
from lamplighter.application.experiments.probes import clean_up
from lamplighter.application.run import command_of
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.experiments import policy as policies
from lamplighter.domain.experiments.catalogue import Touches
from lamplighter.domain.experiments.rails import before_rules, names, rails
from lamplighter.domain.experiments.rules import missing
from lamplighter.domain.experiments.run import UNDONE, ExperimentRun, Phase
from lamplighter.domain.schedules.schedule import NEAREST
from lamplighter.errors import OutsideFailed, Stale, TryLater

_logger = logging.getLogger(__name__)
NOT_UNDONE = frozenset(Phase) - UNDONE


def change(run: Mapping[str, object], bench: Bench) -> dict[str, object]:
    """Step Change: make the change; Stale where the run is over, or its rails are not there."""
    kept = run_of(run, bench.ledger)
    if kept is None:
        raise Stale("the run is not in the ledger: nothing was prepared, and nothing is changed")
    if kept.phase is not Phase.PREPARED and not kept.undone:
        return {"changed": list(kept.change), "outcome": "changed"}
    _may_still_change(kept, bench)
    made = _make(kept, bench)
    changed = kept.moved_to(Phase.CHANGED, changed=bench.now(), change=tuple(made))
    if not bench.ledger.advance_experiment(changed, {Phase.PREPARED}):
        # Somebody undid the run while we were at it: what came after that is undone as well.
        put_back(kept, bench)
        raise Stale(f"{kept.name} was undone while it was being changed, and is undone again")
    bench.ledger.append_audit(
        Entry(
            at=bench.now(),
            pool=kept.pool,
            kind="experiment",
            who=kept.by,
            what=f"{kept.name}: {'; '.join(made) or 'nothing is changed but a pod'}",
            why=kept.experiment.hypothesis,
            lease=kept.lease,
            details={"run": kept.id},
        )
    )
    return {"changed": made, "outcome": "changed"}


def restore(run: Mapping[str, object], bench: Bench) -> dict[str, object]:
    """Step Restore: everything is as it was, and was seen to be; TryLater until it is."""
    kept = run_of(run, bench.ledger)
    if kept is None:
        return {"outcome": "nothing", "reason": "no experiment is under way", "run": None, "put_back": []}
    done = put_back(kept, bench)
    _clean_up(kept, bench)
    command = command_of(run)
    restored = kept.moved_to(Phase.RESTORED, restored=bench.now(), restored_by=command.by)
    first = not kept.undone and bench.ledger.advance_experiment(restored, NOT_UNDONE)
    if first or done:
        bench.ledger.append_audit(
            Entry(
                at=bench.now(),
                pool=kept.pool,
                kind="experiment-restored",
                who=command.by,
                what=f"undid {kept.name}: {'; '.join(done) or 'everything was as before already'}",
                why=command.because or "its observation is over",
                lease=kept.lease,
                details={"run": kept.id},
            )
        )
    bench.schedules.delete(names(kept))
    return {
        "outcome": "restored",
        "reason": f"{kept.name} is undone: everything is as it was",
        "run": kept.id,
        "put_back": done,
    }


def _clean_up(run: ExperimentRun, bench: Bench) -> None:
    """Where Kubernetes is silent its pods are left for later; the rules come back all the same."""
    try:
        clean_up(run, bench)
    except (OutsideFailed, TryLater) as error:
        _logger.warning("pods of %s may be left: %s", run.id, error)


def put_back(run: ExperimentRun, bench: Bench) -> list[str]:
    """Put back whatever is not as it was before the run, and see that it is; says what was put back."""
    match run.experiment.touches:
        case Touches.RULES:
            return _put_rules_back(run, bench)
        case Touches.POLICY:
            from lamplighter.application.experiments.policy import give_back  # noqa: PLC0415 -- only where it matters

            return give_back(run, bench)
        case Touches.NOTHING:
            return []


def _put_rules_back(run: ExperimentRun, bench: Bench) -> list[str]:
    before = before_rules(run.before)
    groups = sorted({rule.group for rule in before})
    gone = missing(before, bench.groups.rules(groups))
    for rule in gone:
        bench.groups.give(rule)
    if gone and missing(before, bench.groups.rules(groups)):
        raise TryLater(f"EC2 does not show all rules of {run.name} again yet")
    return [str(rule) for rule in gone]


def _may_still_change(run: ExperimentRun, bench: Bench) -> None:
    lease, now = bench.lease_of(run), bench.now()
    if run.undone:
        raise Stale(f"{run.name} is undone already, and nothing is changed any more")
    overdue = run.overdue(lease, now)
    if overdue or lease is None:
        raise Stale(f"{run.name} is not begun any more: {overdue}")
    for rail in rails(run, bench.workflow, lease.closes):
        if rail.at > now + NEAREST and bench.schedules.read(rail.name) is None:
            raise OutsideFailed(
                f"scheduler:GetSchedule on {bench.schedules.group}/{rail.name}: the rail is not there, so nothing "
                "is changed"
            )


def _make(run: ExperimentRun, bench: Bench) -> list[str]:
    match run.experiment.touches:
        case Touches.RULES:
            rules = before_rules(run.before)
            for rule in rules:
                bench.groups.take(rule)
            left = len(rules) - len(missing(rules, bench.groups.rules({rule.group for rule in rules})))
            if left:
                raise TryLater(f"EC2 still shows {left} of the rules that {run.name} took away")
            return [f"taken: {rule}" for rule in rules]
        case Touches.POLICY:
            from lamplighter.application.experiments.policy import borrow  # noqa: PLC0415 -- only where it matters

            fields = policies.changes(run.name, bench.lab.pools[run.pool].taints)
            borrow(run, bench)
            return policies.said(fields)
        case Touches.NOTHING:
            return []


def seen(run: ExperimentRun, bench: Bench, document: Mapping[str, object]) -> bool:
    """Keep what was seen; False where the run is undone by now."""
    found = replace(run, phase=Phase.OBSERVED, seen=document)
    return bench.ledger.advance_experiment(found, {Phase.CHANGED, Phase.OBSERVED})
