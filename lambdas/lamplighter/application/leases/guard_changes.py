"""People's orders to the guard: enforce or only watch a pool, silence its pages, keep an idle lease.

The rules are in domain/guard/orders.py. Here each is decided on what the ledger has, and written in one transaction.
"""

from collections.abc import Callable, Mapping

from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.guard import orders as guard_orders
from lamplighter.domain.guard.orders import ENFORCE, WATCH, OrderOutcome
from lamplighter.reasons.reason import Reason, reason


def arm(command: Command, lease_services: LeaseServices) -> Decision:
    """From now on the guard closes nodes without a lease."""
    return _mode(command, lease_services, ENFORCE)


def watch(command: Command, lease_services: LeaseServices) -> Decision:
    """From now on the guard only reports nodes without a lease."""
    return _mode(command, lease_services, WATCH)


def acknowledge(command: Command, lease_services: LeaseServices) -> Decision:
    """A person acknowledges a leaked pool, which silences its pages for a while."""
    pool = lease_services.ledger.pool(command.pool)
    answer = guard_orders.acknowledge(command, pool, lease_services.now())
    what = reason("audit.leak-acknowledged", pool=pool.name)
    decision, why = _answered(command, answer, lease_services, "acknowledged", what)
    if answer.until is None:
        lease_services.ledger.decide(command.pool, decision, why)
    else:
        lease_services.ledger.acknowledge(pool, answer.until, decision, why)
    return decision


def keep(command: Command, lease_services: LeaseServices) -> Decision:
    """Keeps a lease although it is idle."""
    pool, leases = lease_services.ledger.pool(command.pool), lease_services.ledger.leases(command.pool)
    answer = guard_orders.keep(command, leases, lease_services.now())
    what = reason("audit.lease-kept", pool=pool.name)
    decision, why = _answered(command, answer, lease_services, "kept", what)
    if answer.outcome == "kept" and answer.lease is not None:
        lease_services.ledger.keep(answer.lease, pool, decision, why)
    else:
        lease_services.ledger.decide(command.pool, decision, why)
    return decision


def _mode(command: Command, lease_services: LeaseServices, wanted: str) -> Decision:
    pool, lab = lease_services.ledger.pool(command.pool), lease_services.capacity.lab
    answer = guard_orders.mode(command, pool, lab.mode(command.pool), wanted)
    what = reason("audit.mode-set", pool=pool.name, mode=wanted)
    decision, why = _answered(command, answer, lease_services, "mode", what)
    if answer.outcome == "unchanged":
        lease_services.ledger.decide(command.pool, decision, why)
    else:
        lease_services.ledger.change_mode(command.pool, wanted, decision, why)
    return decision


def _answered(
    command: Command, answer: OrderOutcome, lease_services: LeaseServices, kind: str, what: Reason
) -> tuple[Decision, Entry]:
    """The decision and its audit entry."""
    now, lease = lease_services.now(), answer.lease.id if answer.lease else None
    refused = answer.outcome == "refused"
    why = Entry(
        at=now,
        pool=command.pool,
        kind="refused" if refused else kind,
        who=command.by,
        what=reason("audit.asked-of-pool", verb=command.verb.value, pool=command.pool) if refused else what,
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
