"""Step Prepare: decides on a run, stores the state before it, and arms its schedules, before the first change.

Step Rearm: moves the schedules of an experiment to the new end of its lease.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application.experiments.change import restore
from lamplighter.application.experiments.plans import facts_of
from lamplighter.application.experiments.services import ExperimentServices, run_of
from lamplighter.application.leases.services import LOOKS
from lamplighter.application.run import command_of
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.experiments.admission import decide
from lamplighter.domain.experiments.catalogue import Touches
from lamplighter.domain.experiments.rails import rails
from lamplighter.domain.experiments.rules import ephemeral, vpc_wide
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.schedules.schedule import NEAREST
from lamplighter.errors import Refused, TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import to_document
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import instant


def prepare(run: Mapping[str, object], services: ExperimentServices) -> dict[str, object]:
    """Step Prepare: granted, with everything stored and armed; or refused with the reason."""
    command = command_of(run)
    decision = services.ledger.command(command.pool, command.id) or _decide(command, services)
    kept = run_of(run, services.ledger)
    why = document(decision.reason)
    if decision.outcome != "granted" or kept is None or kept.undone:
        return {"outcome": "refused" if kept is None else "over", "reason": why, "run": None}
    arm(kept, services)
    return {
        "outcome": "granted",
        "reason": why,
        "run": kept.id,
        "name": kept.name,
        "ends": instant.written(kept.ends),
        "affected": list(kept.affected),
    }


def arm(run: ExperimentRun, services: ExperimentServices) -> None:
    """Set the schedules of a run by the present end of its lease, and read them back."""
    lease = services.lease_of(run)
    closes = lease.closes if lease is not None else run.closes
    now = services.now()
    for rail in rails(run, services.workflow, closes):
        # A schedule that is due already is not set: the caller restores at once.
        if rail.at > now + NEAREST:
            services.schedules.put_and_read_back(rail)


def rearm(run: Mapping[str, object], services: ExperimentServices) -> dict[str, object]:
    """Step Rearm, after a lease's end was moved; restores at once where the new end leaves no time."""
    lease = command_of(run).lease
    under_way = services.ledger.experiment_under_way()
    if under_way is None or under_way.lease != lease:
        none = reason("experiment.none-in-lease", lease=lease or "")
        return {"outcome": "nothing", "reason": document(none)}
    overdue = under_way.overdue(services.lease_of(under_way), services.now())
    if overdue:
        return restore(run, services)
    arm(under_way, services)
    return {"outcome": "armed", "reason": document(reason("experiment.rearmed", name=under_way.name))}


def _decide(command: Command, services: ExperimentServices) -> Decision:
    for _ in range(LOOKS):
        now = services.now()
        answer = decide(command, facts_of(command.pool, services.lab, services.ledger), now)
        said, run = answer.reason, answer.run
        if run is not None:
            try:
                run = replace(run, before=_before(run, services))
            except Refused as error:
                run, said = None, error.said
        if run is None:
            return _refuse(command, said, now, services)
        decision = Decision(command.id, "granted", said, now, lease=run.lease)
        why = Entry(
            at=now,
            pool=run.pool,
            kind="experiment",
            who=command.by,
            what=reason("experiment.runs", name=run.name, pool=run.pool),
            why=said,
            lease=run.lease,
            details={"run": run.id, "affected": ", ".join(run.affected)},
        )
        try:
            services.ledger.begin_experiment(run, decision, why)
        except Conflict:
            continue
        return decision
    raise TryLater(reason("experiment.ledger-changes"))


def _refuse(command: Command, said: Said, now: datetime, services: ExperimentServices) -> Decision:
    decision = Decision(command.id, "refused", said, now)
    asked = reason("experiment.asked", name=command.experiment or "")
    why = Entry(now, command.pool, "refused", command.by, asked, said)
    services.ledger.decide(command.pool, decision, why)
    return decision


def _before(run: ExperimentRun, services: ExperimentServices) -> dict[str, object]:
    """The state to restore; Refused where there is nothing to change."""
    match run.experiment.touches:
        case Touches.RULES:
            return {"rules": _rules(services)}
        case Touches.POLICY:
            from lamplighter.application.experiments.policy import seen  # noqa: PLC0415 -- only where it matters

            return {"policy": seen(run, services)}
        case Touches.NOTHING:
            return {}


def _rules(services: ExperimentServices) -> list[dict[str, object]]:
    found = services.group_ids()
    if found is None:
        raise Refused(reason("experiment.no-groups", lab=services.lab.name))
    node, auxiliary = found
    rules = services.groups.rules(found)
    pair = (ephemeral(rules, node), vpc_wide(rules, auxiliary, services.lab.cluster.vpc.cidr))
    if None in pair:
        raise Refused(reason("experiment.no-rules"))
    return [to_document(rule) for rule in pair if rule is not None]
