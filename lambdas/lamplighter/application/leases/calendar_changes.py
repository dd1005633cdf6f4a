"""What people change about the calendar: skip and unskip a window, pause and resume the lab.

The rules are in domain/calendar/ (skipping.py, pausing.py); here each is decided on what the ledger says and written
all at once.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from lamplighter.adapters.calendars.kept import kept_courses
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar import pausing, skipping
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.leases.lease import Lease


def skip(command: Command, lease_services: LeaseServices) -> Decision:
    """Take a date of a window out of the calendar."""
    now, ledger = lease_services.now(), lease_services.ledger
    lab = lease_services.capacity.lab
    courses = kept_courses(lab, ledger)
    answer = skipping.skip(
        command,
        lab,
        ledger.skips(),
        _leases(lease_services),
        now=now,
        courses=courses,
    )
    decision = Decision(command.id, answer.outcome, answer.reason, now)
    if answer.skip is None or answer.opening is None:
        return _kept(command, decision, lease_services)
    pool, lease = answer.opening.pool, answer.opening.lease
    what = f"skipped {answer.skip.window} on {answer.skip.date}"
    why = Entry(now, pool, "skipped", command.by, what, answer.reason, lease)
    ledger.skip(answer.skip, (pool, lease), command.pool, decision, why)
    return decision


def unskip(command: Command, lease_services: LeaseServices) -> Decision:
    """Put a date of a window back into the calendar."""
    now, ledger = lease_services.now(), lease_services.ledger
    lab = lease_services.capacity.lab
    courses = kept_courses(lab, ledger)
    answer = skipping.unskip(command, lab, ledger.skips(), now=now, courses=courses)
    decision = Decision(command.id, answer.outcome, answer.reason, now)
    if answer.skip is None or answer.opening is None:
        return _kept(command, decision, lease_services)
    lease = answer.opening.lease
    what = f"put back {answer.skip.window} on {answer.skip.date}"
    why = Entry(now, answer.opening.pool, "unskipped", command.by, what, answer.reason, lease)
    ledger.unskip(answer.skip, command.pool, decision, why)
    return decision


def pause(command: Command, lease_services: LeaseServices) -> Decision:
    """Keep everything closed for a while."""
    now = lease_services.now()
    answer = pausing.pause(
        command,
        lease_services.ledger.pauses(),
        _leases(lease_services),
        now=now,
    )
    decision = Decision(command.id, answer.outcome, answer.reason, now)
    if answer.pause is None:
        return _kept(command, decision, lease_services)
    why = _of_all_pools(command, decision, "paused", "paused the lab", lease_services)
    lease_services.ledger.pause(answer.pause, command.pool, decision, why)
    return decision


def resume(command: Command, lease_services: LeaseServices) -> Decision:
    """Let pools open again."""
    now = lease_services.now()
    answer = pausing.resume(
        command,
        lease_services.ledger.pauses(),
        _leases(lease_services),
        now=now,
    )
    decision = Decision(command.id, answer.outcome, answer.reason, now)
    if not answer.ended:
        return _kept(command, decision, lease_services)
    why = _of_all_pools(command, decision, "resumed", "resumed the lab", lease_services)
    lease_services.ledger.resume(answer.ended, command.pool, decision, why)
    return decision


def _kept(command: Command, decision: Decision, lease_services: LeaseServices) -> Decision:
    """An answer that changes nothing; a no is for the trail as well."""
    why = None
    if decision.outcome == "refused":
        why = Entry(
            decision.at, command.pool, "refused", command.by, f"asked to {command.verb}", decision.reason
        )
    lease_services.ledger.decide(command.pool, decision, why)
    return decision


def _of_all_pools(
    command: Command, decision: Decision, kind: str, what: str, lease_services: LeaseServices
) -> Sequence[Entry]:
    """`why POOL` reads the trail of one pool: each says what was decided for all."""
    at: datetime = decision.at
    return [
        Entry(at, pool, kind, command.by, what, decision.reason) for pool in lease_services.capacity.lab.pools
    ]


def _leases(lease_services: LeaseServices) -> list[Lease]:
    return [
        lease for pool in lease_services.capacity.lab.pools for lease in lease_services.ledger.leases(pool)
    ]


CHANGES: Mapping[Verb, Callable[[Command, LeaseServices], Decision]] = {
    Verb.SKIP: skip,
    Verb.UNSKIP: unskip,
    Verb.PAUSE: pause,
    Verb.RESUME: resume,
}
