"""What people say to the guard: enforce or only watch a pool, silence its pages, keep an idle lease.

The rules are in domain/guard/orders.py; here each is decided on what the ledger says and written all at once.
"""

from collections.abc import Callable, Mapping

from lamplighter.application.leases.desk import Desk
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.guard import orders as guard_orders
from lamplighter.domain.guard.orders import ENFORCE, WATCH, Answer
from lamplighter.values import zones
from lamplighter.values.instant import told_by


def arm(command: Command, desk: Desk) -> Decision:
    """From here the guard closes what it finds."""
    return _mode(command, desk, ENFORCE)


def watch(command: Command, desk: Desk) -> Decision:
    """From here the guard only says what it finds."""
    return _mode(command, desk, WATCH)


def acknowledge(command: Command, desk: Desk) -> Decision:
    """Somebody has seen that the pool is leaked."""
    pool = desk.ledger.pool(command.pool)
    answer = guard_orders.acknowledge(command, pool, desk.now())
    decision, why = _answered(command, answer, desk, "acknowledged", f"has seen the leak of {pool.name}")
    if answer.until is None:
        desk.ledger.decide(command.pool, decision, why)
    else:
        desk.ledger.acknowledge(pool, answer.until, decision, why)
    return decision


def keep(command: Command, desk: Desk) -> Decision:
    """A lease stays though it is idle."""
    pool, leases = desk.ledger.pool(command.pool), desk.ledger.leases(command.pool)
    answer = guard_orders.keep(command, leases, desk.now())
    decision, why = _answered(command, answer, desk, "kept", f"keeps a lease on pool {pool.name}")
    if answer.outcome == "kept" and answer.lease is not None:
        desk.ledger.keep(answer.lease, pool, decision, why)
    else:
        desk.ledger.decide(command.pool, decision, why)
    return decision


def _mode(command: Command, desk: Desk, wanted: str) -> Decision:
    pool, lab = desk.ledger.pool(command.pool), desk.capacity.lab
    answer = guard_orders.mode(command, pool, lab.mode(command.pool), wanted)
    decision, why = _answered(command, answer, desk, "mode", f"puts pool {pool.name} in {wanted}")
    if answer.outcome == "unchanged":
        desk.ledger.decide(command.pool, decision, why)
    else:
        desk.ledger.change_mode(command.pool, wanted, decision, why)
    return decision


def _answered(command: Command, answer: Answer, desk: Desk, kind: str, what: str) -> tuple[Decision, Entry]:
    """The decision, and what the trail says of it."""
    now, lease = desk.now(), answer.lease.id if answer.lease else None
    refused = answer.outcome == "refused"
    reason = told_by(clock_of(zones.zone(desk.capacity.lab.time_zone)), answer.reason)
    why = Entry(
        at=now,
        pool=command.pool,
        kind="refused" if refused else kind,
        who=command.by,
        what=f"asked to {command.verb} pool {command.pool}: refused" if refused else what,
        why=reason,
        lease=lease,
    )
    return Decision(command.id, answer.outcome, reason, now, lease), why


CHANGES: Mapping[Verb, Callable[[Command, Desk], Decision]] = {
    Verb.ARM: arm,
    Verb.WATCH: watch,
    Verb.ACK: acknowledge,
    Verb.KEEP: keep,
}
