"""Step Extend: a lease ends later. The failsafe moves first.

The rules are in domain/granting/extension.py; the order is that of a grant.
"""

from collections.abc import Mapping
from dataclasses import replace

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application.capacity.outlived import first_expiry
from lamplighter.application.leases.experiments import experiment_follows
from lamplighter.application.leases.granting import entry
from lamplighter.application.leases.services import LOOKS, LeaseServices
from lamplighter.application.run import command_of, pool_of
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.evidence import Part
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.granting import extension
from lamplighter.domain.granting.extension import Extension
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.pool import Fence
from lamplighter.errors import TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values import instant


def extend(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Moves the failsafe, then the end of a lease, then its schedules; or returns the reason of the refusal."""
    pool = pool_of(run, lease_services.capacity.lab)
    command = command_of(run)
    decision = lease_services.ledger.command(pool, command.id) or _decide_extension(command, lease_services)
    lease = lease_services.ledger.lease(pool, decision.lease) if decision.lease else None
    if decision.outcome in {"extended", "shortened"} and lease is not None and lease.granted:
        lease_services.schedule_end(lease)
        if decision.outcome == "shortened":
            experiment_follows(lease, command, lease_services)
    return {
        "outcome": decision.outcome,
        "reason": document(decision.reason),
        "lease": lease.to_json() if lease else None,
    }


def _decide_extension(command: Command, lease_services: LeaseServices) -> Decision:
    with lease_services.ledger.writing(command.pool, f"Extend {command.id}", lease_services.now()) as fence:
        for look in range(LOOKS):
            try:
                decision = _extend_once(command, lease_services, fence)
            except Conflict:
                continue
            # After a shortening the failsafe moves nearer only now: earlier it would have cut the lease short.
            if decision.outcome == "shortened" or (look and decision.outcome != "extended"):
                lease_services.arm(command.pool)
            return decision
    raise TryLater(reason("lease.pool-changes", pool=command.pool))


def _extend_once(command: Command, lease_services: LeaseServices, fence: Fence) -> Decision:
    pool = lease_services.ledger.pool(command.pool)
    leases = lease_services.ledger.leases(command.pool)
    now = lease_services.now()
    terms = lease_services.terms(command.pool)
    meant = extension.meant(command, leases, now)
    budget = lease_services.ledger.budget(meant.period, terms.budget.currency) if meant else None
    answer = extension.decide(command, terms, leases, budget, now=now, generation=pool.generation)
    answer = _within_the_life_of_nodes(answer, lease_services)
    decision = Decision(
        command=command.id,
        outcome=answer.outcome,
        reason=answer.reason,
        at=now,
        lease=answer.before.id if answer.before else None,
    )
    if answer.before is None or answer.after is None or budget is None:
        why = Entry(
            at=now,
            pool=command.pool,
            kind="refused",
            who=command.by,
            what=reason("audit.extend-refused", pool=command.pool),
            why=answer.reason,
            lease=decision.lease,
        )
        lease_services.ledger.decide(command.pool, decision, why)
        return decision
    if answer.outcome == "extended":
        lease_services.arm(command.pool, also=answer.after)
    lease_services.ledger.extend(
        answer.before,
        answer.after,
        decision,
        pool=pool,
        budget=budget,
        fence=fence,
        why=replace(
            entry(
                answer.after,
                answer.outcome,
                command.by,
                _moved(answer.outcome, answer.after),
                answer.reason,
                now,
            ),
            details={"from": instant.written(answer.before.closes)},
        ),
    )
    return decision


def _within_the_life_of_nodes(answer: Extension, lease_services: LeaseServices) -> Extension:
    """Refused where a node would be replaced by its controller before the new end: a leased node is not taken."""
    lease = answer.after
    if (
        lease is None
        or answer.outcome != "extended"
        or lease.pool not in lease_services.capacity.lab.pools_with("claims")
    ):
        return answer
    seen = lease_services.capacity.see(lease.pool, {Part.MEMBERS})
    expiry = None if seen.dynamic else first_expiry(seen.claims)
    if expiry is None or expiry >= lease.closes:
        return answer
    why = reason("lease.node-life", pool=lease.pool, at=expiry)
    return Extension("refused", why, before=answer.before)


def _moved(outcome: str, lease: Lease) -> Reason:
    if outcome == "extended":
        return reason("audit.lease-extended", lease=lease.called())
    return reason("audit.lease-shortened", lease=lease.called())
