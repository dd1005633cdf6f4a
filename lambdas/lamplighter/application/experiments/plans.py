"""What an experiment would do now, decided as the workflow decides. It changes nothing."""

from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.commands.command import Command
from lamplighter.domain.experiments.admission import ExperimentFacts, decide, ground
from lamplighter.domain.experiments.catalogue import find
from lamplighter.domain.experiments.plan import ExperimentPlan

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab


def facts_of(pool: str, lab: "Lab", ledger: Ledger) -> ExperimentFacts:
    """What an experiment on the pool would run on, as the ledger has it now."""
    leases = {name: ledger.leases(name) for name in lab.pools}
    return ground(lab, pool, leases, ledger.experiments())


def plan_of(command: Command, lab: "Lab", ledger: Ledger, now: datetime) -> ExperimentPlan:
    """What a command to run an experiment would do, or why it would be refused. BadInput for an unknown experiment."""
    experiment, facts = find(command.experiment or ""), facts_of(command.pool, lab, ledger)
    decision = decide(command, facts, now)
    affected = decision.run.affected if decision.run else ()
    felt_by = [lease for leases in facts.leases.values() for lease in leases if lease.id in affected]
    return ExperimentPlan(experiment, decision, felt_by)
