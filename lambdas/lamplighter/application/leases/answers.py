"""Keeps the answer to a command that changes nothing: the decision, and an audit entry where it is a refusal."""

from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.reasons.reason import reason


def keep_answer(command: Command, decision: Decision, lease_services: LeaseServices) -> Decision:
    """Keeps the decision and gives it back."""
    refusal = None
    if decision.outcome == "refused":
        what = reason("audit.asked", verb=command.verb.value)
        refusal = Entry(decision.at, command.pool, "refused", command.by, what, decision.reason)
    lease_services.ledger.decide(command.pool, decision, refusal)
    return decision
