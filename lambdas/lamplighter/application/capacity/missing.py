"""Step Release: stops ordering the missing nodes of a lease and releases their hold, until they are asked for again.

First the size is lowered to the nodes that came, then the hold is released. A node that comes meanwhile stays and is
paid for. domain/money/shares.py decides which lease misses a node.
"""

from collections.abc import Mapping

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application import environment
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.capacity.sizes import RAIL_AFTER, Direction, Order, write
from lamplighter.application.run import pool_of, result
from lamplighter.domain.audit.entry import CAPACITY, Entry
from lamplighter.domain.billing import holds
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import terms
from lamplighter.domain.money.shares import Claim, shares
from lamplighter.errors import TryLater
from lamplighter.reasons.document import read_line
from lamplighter.reasons.reason import Said, Sentences, reason

ATTEMPTS = 3


def release(run: Mapping[str, object], capacity: CapacityServices, command: Command, lease: Lease) -> int:
    """Release the hold for a lease's missing nodes; returns their number. TryLater while its pool keeps changing."""
    pool, why = pool_of(run, capacity.lab), read_line(result(run, "AwaitNodes").get("shortage"))
    for _ in range(ATTEMPTS):
        current = capacity.ledger.lease(pool, lease.id)
        if current is None or not current.in_force(capacity.now()):
            return 0
        missing = missed(current, capacity)
        if not missing:
            return 0
        _order(capacity, command, current, without=missing)
        try:
            freed = _free(current, missed(current, capacity), why, capacity)
        except Conflict:
            continue
        _lower_again(capacity, command, current)
        return freed
    raise TryLater(reason("capacity.missing-freed-later", pool=pool, lease=lease.called()))


def missed(lease: Lease, capacity: CapacityServices) -> int:
    """The number of missing nodes of a lease; the pool's nodes belong to its leases in the order of opening."""
    now = capacity.now()
    in_force = [other for other in capacity.ledger.leases(lease.pool) if other.in_force(now)]
    claims = [Claim(other.opens, other.id, other.wanted) for other in in_force]
    came = dict.fromkeys(capacity.see(lease.pool).there, "")
    return lease.wanted - len(shares(claims, came).get(lease.id, ()))


def _lower_again(capacity: CapacityServices, command: Command, lease: Lease) -> None:
    """Lower the size once more: another writer may have ordered the old target, which had the missing nodes."""
    seen = capacity.see(lease.pool)
    if seen.controller is not None and seen.size > capacity.target(lease.pool, seen).nodes:
        _order(capacity, command, lease, without=0)


def _order(capacity: CapacityServices, command: Command, lease: Lease, *, without: int) -> None:
    write(
        capacity,
        Order(
            pool=lease.pool,
            holder=f"Release {command.id}",
            who=CAPACITY,
            direction=Direction.DOWN,
            # AWS still works on the order that finds no capacity, so this one does not wait for that.
            since=capacity.now() - RAIL_AFTER,
            lease=lease.id,
            without=without,
        ),
    )


def _free(lease: Lease, missing: int, why: Said, capacity: CapacityServices) -> int:
    if not missing:
        return 0
    now, ledger = capacity.now(), capacity.ledger
    agreed = terms(environment.as_kept(capacity.lab, ledger), lease.pool)
    after = holds.freed(lease, lease.missing + missing, agreed, now)
    entry = Entry(
        at=now,
        pool=lease.pool,
        kind="degraded",
        who=CAPACITY,
        what=reason("capacity.missing", missing=after.missing, nodes=lease.nodes, lease=lease.called()),
        why=Sentences((why, reason("capacity.hold-free", money=str(lease.hold - after.hold)))),
        lease=lease.id,
        nodes=after.wanted,
    )
    pool, budget = ledger.pool(lease.pool), ledger.budget(lease.period, agreed.budget.currency)
    ledger.rehold(lease, after, pool=pool, budget=budget, why=entry)
    return missing
