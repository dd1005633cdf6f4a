"""The answer that an open command would get now, by the rule that grants, without granting anything."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.view_reading import ViewReading
from lamplighter.application.leases.budgets import budgets_at
from lamplighter.domain.calendar.changes import Changes
from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting import grant
from lamplighter.domain.granting.grant import GrantDecision
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab


def outlook(pool: str, ledger: Ledger, lab: "Lab", now: datetime) -> Callable[[Command], GrantDecision]:
    """Answers open commands on a pool as it is at this instant."""
    terms = ViewReading(ledger, lab, now).terms.get(pool)
    if terms is None:
        return lambda _command: GrantDecision("refused", reason("lease.price-unknown", pool=pool))
    leases, generation = ledger.leases(pool), ledger.pool(pool).generation
    changes = Changes(pauses=tuple(ledger.pauses()))
    budgets = budgets_at(ledger, terms, now)

    def answer(command: Command) -> GrantDecision:
        return grant.decide(command, terms, leases, budgets, now=now, generation=generation, changes=changes)

    return answer
