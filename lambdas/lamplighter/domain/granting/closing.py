"""Which leases a close command ends, and when it is too late to end any.

The close of a schedule is for one end of one lease. If the end has moved, the command is stale. A lease past its end
may always be closed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.errors import TryLater
from lamplighter.reasons.document import read_line
from lamplighter.reasons.reason import Said, reason

HAND_OVER = timedelta(minutes=1)
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class Closing:
    """What a close command does: the leases that it ends, or why it ends none."""

    leases: tuple[Lease, ...]
    over: Said | None
    reason: Said


def decide(command: Command, opened: str | None, leases: Sequence[Lease], now: datetime) -> Closing:
    """The answer to a close command; `opened` is the lease of the open command that it undoes, if it undoes one."""
    given = failure(command.because) if command.opened_by is not None else command.because
    because = given or reason("lease.pool-closed-by", by=command.by, pool=command.pool)
    named = command.lease or opened
    if command.opened_by is not None and named is None:
        return Closing((), reason("lease.never-granted"), because)
    if named is None:
        return _whole_pool(command, leases, because, now)
    lease = next((each for each in leases if each.id == named), None)
    if lease is None or lease.state in {LeaseState.CLOSED, LeaseState.REFUSED, LeaseState.PLANNED}:
        state = reason("lease.state.unknown") if lease is None else lease.stands()
        return Closing((), reason("lease.nothing-to-close", lease=named, state=state), because)
    if lease.granted and now < lease.closes:
        too_soon = _stale(command, lease, now)
        if too_soon:
            return Closing((), too_soon, because)
    return Closing((lease,), None, because)


def is_emergency(command: Command) -> bool:
    """Whether a person closes a whole pool: it waits for no later lease, and no lease takes nodes over."""
    return command.lease is None and command.opened_by is None and command.source in {"cli", "slack"}


def _whole_pool(command: Command, leases: Sequence[Lease], because: Said, now: datetime) -> Closing:
    """No lease is named: ends all leases that have begun, and those whose close did not finish.

    The guard names none when it finds nodes that no lease justifies: leases in force then stay.
    """
    begun = [each for each in leases if each.opens <= now]
    ending = [each for each in begun if each.state is LeaseState.CLOSING]
    if command.source == "guard":
        ending += [each for each in begun if each.granted and each.closes <= now]
        return Closing(tuple(ending), None, because)
    too_old = command.too_old(now, generation=command.generation or 0)
    if too_old:
        return Closing((), too_old, because)
    ending += [each for each in begun if each.granted]
    return Closing(tuple(ending), None, because)


def _stale(command: Command, lease: Lease, now: datetime) -> Said | None:
    """Why a command may not end a lease before its end."""
    if command.closes is not None and command.closes < lease.closes:
        return reason("lease.close-is-stale", closes=command.closes, lease=lease.called(), until=lease.closes)
    return command.too_old(now, generation=lease.generation)


def wait_for_successor(leases: Sequence[Lease], now: datetime) -> None:
    """Raises TryLater while another lease is about to take the nodes over, so that they keep running."""
    for lease in leases:
        if lease.state in {LeaseState.PLANNED, LeaseState.ADMITTED} and now < lease.opens <= now + HAND_OVER:
            raise TryLater(reason("lease.takes-over", lease=lease.called(), opens=lease.opens))


def failure(because: Said | None) -> Said | None:
    """The reason of a close after a failed step: Step Functions gives the error's name, then its cause.

    Of Lambda's JSON the message counts. `because` is written by the workflow and never by a person.
    """
    if not isinstance(because, str) or "{" not in because:
        return because
    error, _, cause = because.partition(": ")
    reason_of_step = read_line(cause)
    if not isinstance(reason_of_step, str):
        return reason("lease.step-failed", error=error, detail=reason_of_step)
    try:
        message = json.loads(cause).get("errorMessage")
    except (ValueError, AttributeError):
        message = None
    return reason("lease.step-failed", error=error, detail=str(message or cause)[:_LONGEST_REASON])
