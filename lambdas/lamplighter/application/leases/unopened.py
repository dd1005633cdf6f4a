"""A lease without nodes: whether it may open beside nodes of others, and how it ends without a close.

On a pool that the guard only watches, a close would order a size that takes nodes which no lease opened. So a lease
there does not open beside such nodes, and one that never opened ends in the ledger alone.
"""

from collections.abc import Sequence
from contextlib import suppress

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application.leases.services import LOOKS, LeaseServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.granting import closing, opening
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.pool.pool import Fence, PoolState
from lamplighter.errors import TryLater
from lamplighter.reasons.reason import Reason, Said, reason


def nodes_of_others(pool: PoolState, leases: Sequence[Lease], lease_services: LeaseServices) -> Reason | None:
    """Why no lease opens on this pool now; None: one may. Raises OutsideFailed or TryLater if AWS does not answer."""
    if lease_services.capacity.enforces(pool):
        return None
    seen = lease_services.capacity.see(pool.name)
    return opening.beside_others(leases, seen, pool.name, lease_services.now())


def withdrawn(command: Command, lease_services: LeaseServices) -> Said | None:
    """Ends the lease that a close names, if it never opened on a watched pool. Says so; None: it has to be closed."""
    ledger = lease_services.ledger
    if command.lease is None or lease_services.capacity.enforces(ledger.pool(command.pool)):
        return None
    # An opening decides under the same lock.
    with ledger.writing(command.pool, f"Withdraw {command.id}", lease_services.now()) as fence:
        for _ in range(LOOKS):
            pool, leases, now = ledger.pool(command.pool), ledger.leases(command.pool), lease_services.now()
            decided = closing.decide(command, None, leases, now)
            if decided.over or not all(_never_opened(lease, lease_services) for lease in decided.leases):
                return None
            [lease] = decided.leases
            budget = ledger.budget(lease.period, lease.hold.currency)
            said = reason("lease.withdrawn", lease=lease.called(), because=decided.reason)
            with suppress(Conflict):
                over = Decision(command.id, "over", said, now)
                end(lease, over, command.by, pool=pool, budget=budget, fence=fence, services=lease_services)
                return said
    raise TryLater(reason("lease.leases-change", pool=command.pool))


def end(
    lease: Lease,
    decision: Decision,
    who: str,
    *,
    pool: PoolState,
    budget: BudgetPeriod,
    fence: Fence,
    services: LeaseServices,
) -> None:
    """Ends a lease that has no nodes: frees its hold, deletes its schedules. Conflict if anything moved meanwhile."""
    what = reason("audit.opening-refused", lease=lease.called())
    why = Entry(decision.at, lease.pool, "refused", who, what, decision.reason, lease.id, lease.nodes)
    services.ledger.refuse_granted(lease, decision, pool=pool, budget=budget, fence=fence, why=why)
    services.unschedule(lease)
    services.arm(lease.pool)


def _never_opened(lease: Lease, lease_services: LeaseServices) -> bool:
    """Whether no run has decided on its opening: what Admit answered before its instant was the grant."""
    if not lease.granted or lease.ordered is not None:
        return False
    answer = lease_services.ledger.command(lease.pool, lease.run) if lease.run else None
    return answer is None or answer.at < lease.opens
