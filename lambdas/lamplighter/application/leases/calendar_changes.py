"""What people change in the calendar: they skip and unskip a window, pause and resume the lab.

The rules are in domain/calendar/ (skipping.py, pausing.py). Here each is decided on what the ledger has, and the
decision, the change and its audit entries are written in one transaction.
"""

from collections.abc import Callable, Mapping, Sequence

from lamplighter.adapters.aws.kept_courses import kept_courses
from lamplighter.application.leases.answers import keep_answer
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar import pausing, skipping
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import Reason, reason


def skip(command: Command, lease_services: LeaseServices) -> Decision:
    """Takes one date of a window out of the calendar."""
    now, ledger, lab = lease_services.now(), lease_services.ledger, lease_services.capacity.lab
    answer = skipping.skip(
        command,
        lab,
        ledger.skips(),
        _leases(lease_services),
        now=now,
        courses=kept_courses(lab, ledger),
    )
    decision = Decision(command.id, answer.outcome, answer.reason, now)
    if answer.skip is None or answer.opening is None:
        return keep_answer(command, decision, lease_services)
    pool, lease = answer.opening.pool, answer.opening.lease
    what = reason("audit.skipped", window=answer.skip.window, date=answer.skip.date)
    entry = Entry(now, pool, "skipped", command.by, what, answer.reason, lease)
    ledger.skip(answer.skip, (pool, lease), command.pool, decision, entry)
    return decision


def unskip(command: Command, lease_services: LeaseServices) -> Decision:
    """Puts one date of a window back into the calendar."""
    now, ledger, lab = lease_services.now(), lease_services.ledger, lease_services.capacity.lab
    answer = skipping.unskip(
        command,
        lab,
        ledger.skips(),
        now=now,
        courses=kept_courses(lab, ledger),
    )
    decision = Decision(command.id, answer.outcome, answer.reason, now)
    if answer.skip is None or answer.opening is None:
        return keep_answer(command, decision, lease_services)
    what = reason("audit.put-back", window=answer.skip.window, date=answer.skip.date)
    entry = Entry(
        now, answer.opening.pool, "unskipped", command.by, what, answer.reason, answer.opening.lease
    )
    ledger.unskip(answer.skip, command.pool, decision, entry)
    return decision


def pause(command: Command, lease_services: LeaseServices) -> Decision:
    """Keeps all pools closed until an instant, or until somebody resumes the lab."""
    now, ledger = lease_services.now(), lease_services.ledger
    answer = pausing.pause(command, ledger.pauses(), _leases(lease_services), now=now)
    decision = Decision(command.id, answer.outcome, answer.reason, now)
    if answer.pause is None:
        return keep_answer(command, decision, lease_services)
    entries = _of_all_pools(command, decision, "paused", reason("audit.paused"), lease_services)
    ledger.pause(answer.pause, command.pool, decision, entries)
    return decision


def resume(command: Command, lease_services: LeaseServices) -> Decision:
    """Lets pools open again."""
    now, ledger = lease_services.now(), lease_services.ledger
    answer = pausing.resume(command, ledger.pauses(), _leases(lease_services), now=now)
    decision = Decision(command.id, answer.outcome, answer.reason, now)
    if not answer.ended:
        return keep_answer(command, decision, lease_services)
    entries = _of_all_pools(command, decision, "resumed", reason("audit.resumed"), lease_services)
    ledger.resume(answer.ended, command.pool, decision, entries)
    return decision


def _of_all_pools(
    command: Command, decision: Decision, kind: str, what: Reason, lease_services: LeaseServices
) -> Sequence[Entry]:
    """An entry for each pool: `why POOL` reads the trail of one pool only."""
    return [
        Entry(decision.at, pool, kind, command.by, what, decision.reason)
        for pool in lease_services.capacity.lab.pools
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
