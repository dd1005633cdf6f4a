"""What people say to the guard: enforce or only watch a pool, silence its pages, keep an idle lease.

The rules are in domain/guard/orders.py; here each is decided on what the ledger says and written all at once.
"""

from collections.abc import Callable, Mapping

from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.guard import orders as guard_orders
from lamplighter.domain.guard.orders import ENFORCE, WATCH, OrderOutcome


def arm(command: Command, lease_services: LeaseServices) -> Decision:
    """From here the guard closes what it finds."""
    return _mode(command, lease_services, ENFORCE)


def watch(command: Command, lease_services: LeaseServices) -> Decision:
    """From here the guard only says what it finds."""
    return _mode(command, lease_services, WATCH)


def acknowledge(command: Command, lease_services: LeaseServices) -> Decision:
    """Somebody has seen that the pool is leaked."""
    pool = lease_services.ledger.pool(command.pool)
    answer = guard_orders.acknowledge(command, pool, lease_services.now())
    decision, why = _answered(
        command, answer, lease_services, "acknowledged", f"has seen the leak of {pool.name}"
    )
    if answer.until is None:
        lease_services.ledger.decide(command.pool, decision, why)
    else:
        lease_services.ledger.acknowledge(pool, answer.until, decision, why)
    return decision


def keep(command: Command, lease_services: LeaseServices) -> Decision:
    """A lease stays though it is idle."""
    pool, leases = lease_services.ledger.pool(command.pool), lease_services.ledger.leases(command.pool)
    answer = guard_orders.keep(command, leases, lease_services.now())
    decision, why = _answered(command, answer, lease_services, "kept", f"keeps a lease on pool {pool.name}")
    if answer.outcome == "kept" and answer.lease is not None:
        lease_services.ledger.keep(answer.lease, pool, decision, why)
    else:
        lease_services.ledger.decide(command.pool, decision, why)
    return decision


def _mode(command: Command, lease_services: LeaseServices, wanted: str) -> Decision:
    pool, lab = lease_services.ledger.pool(command.pool), lease_services.capacity.lab
    answer = guard_orders.mode(command, pool, lab.mode(command.pool), wanted)
    decision, why = _answered(command, answer, lease_services, "mode", f"puts pool {pool.name} in {wanted}")
    if answer.outcome == "unchanged":
        lease_services.ledger.decide(command.pool, decision, why)
    else:
        lease_services.ledger.change_mode(command.pool, wanted, decision, why)
    return decision


def _answered(
    command: Command, answer: OrderOutcome, lease_services: LeaseServices, kind: str, what: str
) -> tuple[Decision, Entry]:
    """The decision, and what the trail says of it."""
    now, lease = lease_services.now(), answer.lease.id if answer.lease else None
    refused = answer.outcome == "refused"
    why = Entry(
        at=now,
        pool=command.pool,
        kind="refused" if refused else kind,
        who=command.by,
        what=f"asked to {command.verb} pool {command.pool}: refused" if refused else what,
        why=answer.reason,
        lease=lease,
    )
    return Decision(command.id, answer.outcome, answer.reason, now, lease), why


CHANGES: Mapping[Verb, Callable[[Command, LeaseServices], Decision]] = {
    Verb.ARM: arm,
    Verb.WATCH: watch,
    Verb.ACK: acknowledge,
    Verb.KEEP: keep,
}
