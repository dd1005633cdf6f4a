"""Step Change: decides on what people change without a deploy, and keeps the answer.

The same command always gets the same answer. What each verb does is in calendar_changes.py and guard_changes.py.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application.leases.answers import keep_answer
from lamplighter.application.leases.services import LOOKS, LeaseServices
from lamplighter.application.run import command_of
from lamplighter.domain.commands.command import CHANGES_TO_THE_CALENDAR, WHOLE_LAB, Command, Decision, Verb
from lamplighter.errors import BadInput, TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Said, reason

Changing: TypeAlias = Callable[[Command, LeaseServices], Decision]
"""Decides on a command and keeps decision, audit entry and change in one transaction; returns the decision.

Raises Conflict where somebody changed the ledger meanwhile: the caller decides again.
"""


def change(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """The answer to a person's change; `calendar` says that the planner must run again."""
    command = command_of(run)
    decision = lease_services.ledger.command(command.pool, command.id) or _decide(command, lease_services)
    changed = decision.outcome not in {"refused", "unchanged"}
    return {
        "outcome": decision.outcome,
        "reason": document(decision.reason),
        "lease": decision.lease,
        "calendar": changed and command.verb in CHANGES_TO_THE_CALENDAR,
    }


def _decide(command: Command, lease_services: LeaseServices) -> Decision:
    decide = _changes().get(command.verb)
    if decide is None:
        raise BadInput(reason("command.no-change", verb=command.verb.value))
    if command.pool != WHOLE_LAB and command.pool not in lease_services.capacity.lab.pools:
        return _refuse(command, reason("lease.no-pool", pool=command.pool), lease_services)
    too_old = command.too_old(lease_services.now(), _generation(command, lease_services))
    if too_old:
        return _refuse(command, too_old, lease_services)
    for _ in range(LOOKS):
        try:
            return decide(command, lease_services)
        except Conflict:
            continue
    raise TryLater(reason("lease.changes-meanwhile", verb=command.verb.value))


def _refuse(command: Command, why: Said, lease_services: LeaseServices) -> Decision:
    return keep_answer(command, Decision(command.id, "refused", why, lease_services.now()), lease_services)


def _generation(command: Command, lease_services: LeaseServices) -> int:
    if command.generation is None or command.pool == WHOLE_LAB:
        return command.generation or 0
    return lease_services.ledger.pool(command.pool).generation


def _changes() -> Mapping[Verb, Changing]:
    from lamplighter.application.leases import calendar_changes, guard_changes  # noqa: PLC0415 -- on first use

    return {**calendar_changes.CHANGES, **guard_changes.CHANGES}
