"""The answers that commands would get now, by the rules that decide, without granting anything."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.view_reading import ViewReading
from lamplighter.application.leases.budgets import budgets_at
from lamplighter.domain.calendar.changes import Changes
from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting import extension, grant
from lamplighter.domain.granting.extension import Extension
from lamplighter.domain.granting.grant import GrantDecision
from lamplighter.reasons.reason import Said, reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab


@dataclass(frozen=True)
class Outlook:
    """Answers commands on a pool as it is at one instant."""

    opening: Callable[[Command], GrantDecision]
    extension: Callable[[Command], Extension]


def outlook(pool: str, ledger: Ledger, lab: "Lab", now: datetime) -> Outlook:
    """The outlook of a pool at this instant."""
    terms = ViewReading(ledger, lab, now).terms.get(pool)
    if terms is None:
        unknown = reason("lease.price-unknown", pool=pool)
        return Outlook(
            lambda _command: GrantDecision("refused", unknown), lambda _command: Extension("refused", unknown)
        )
    leases, generation = ledger.leases(pool), ledger.pool(pool).generation
    changes = Changes(pauses=tuple(ledger.pauses()))
    budgets = budgets_at(ledger, terms, now)

    def opening(command: Command) -> GrantDecision:
        return grant.decide(command, terms, leases, budgets, now=now, generation=generation, changes=changes)

    def extending(command: Command) -> Extension:
        lease = extension.meant(command, leases, now)
        budget = budgets.get(lease.period) if lease else None
        return extension.decide(command, terms, leases, budget, now=now, generation=generation)

    return Outlook(opening, extending)


def why_never(wish: Command, ledger: Ledger, lab: "Lab", now: datetime) -> Said | None:
    """Why waiting does not help, if that is so."""
    decision = outlook(wish.pool, ledger, lab, now).opening(wish)
    refused = decision.outcome == "refused" and decision.earliest is None
    return decision.reason if refused else None
