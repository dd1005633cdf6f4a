"""Step Release: what a shortage keeps away is ordered no more and costs nothing, until it is asked for again.

In this order: the size is lowered first, to what came; then the money goes back. A node that comes meanwhile
stays, and is paid for. Whose the nodes are is domain/money/shares.py's to say: another lease may miss them, and not
this.
"""

from collections.abc import Mapping

from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.application import environment
from lamplighter.application.capacity.capacity import Capacity, PoolReading
from lamplighter.application.capacity.sizes import RAIL_AFTER, Direction, Order, write
from lamplighter.application.run import pool_of, result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import terms
from lamplighter.domain.money import holds
from lamplighter.domain.money.shares import Claim, shares
from lamplighter.errors import TryLater
from lamplighter.reasons.document import read_line
from lamplighter.reasons.reason import Said, Sentences, reason

LOOKS = 3


def release(run: Mapping[str, object], capacity: Capacity, command: Command, lease: Lease) -> int:
    """Free the hold of the nodes that a lease misses; gives how many. TryLater while its pool keeps changing."""
    pool, why = pool_of(run, capacity.lab), read_line(result(run, "AwaitNodes").get("shortage"))
    for _ in range(LOOKS):
        found = capacity.ledger.lease(pool, lease.id)
        if found is None or not found.in_force(capacity.now()):
            return 0
        missing = missed(found, capacity)
        if not missing:
            return 0
        _order(capacity, command, found, without=missing)
        try:
            freed = _free(found, missed(found, capacity), why, capacity)
        except Conflict:
            continue
        _lower_again(capacity, command, found)
        return freed
    raise TryLater(f"the leases of pool {pool} keep changing; what {lease.called()} misses is freed later")


def missed(lease: Lease, capacity: Capacity) -> int:
    """How many of the nodes that a lease wants are not there; the pool's nodes go to who opened first."""
    now = capacity.now()
    in_force = [each for each in capacity.ledger.leases(lease.pool) if each.in_force(now)]
    claims = [Claim(each.opens, each.id, each.wanted) for each in in_force]
    return lease.wanted - shares(claims, there(capacity.see(lease.pool))).get(lease.id, 0)


def there(seen: PoolReading) -> int:
    """The nodes that run or boot, and stay."""
    staying = {member.instance for member in seen.group.staying} if seen.group else set()
    return sum(each.id in staying for each in seen.alive)


def _lower_again(capacity: Capacity, command: Command, lease: Lease) -> None:
    """Somebody may have ordered the whole target in between; by now it is without what is missing."""
    seen = capacity.see(lease.pool)
    if seen.group is not None and seen.group.desired > capacity.target(lease.pool, seen.nodegroup).nodes:
        _order(capacity, command, lease, without=0)


def _order(capacity: Capacity, command: Command, lease: Lease, *, without: int) -> None:
    write(
        capacity,
        Order(
            pool=lease.pool,
            holder=f"Release {command.id}",
            who="nodegroups",
            direction=Direction.DOWN,
            # EKS is at the very order that finds no capacity: it is not waited for.
            since=capacity.now() - RAIL_AFTER,
            lease=lease.id,
            without=without,
        ),
    )


def _free(lease: Lease, missing: int, why: Said, capacity: Capacity) -> int:
    if not missing:
        return 0
    now, ledger = capacity.now(), capacity.ledger
    agreed = terms(environment.as_kept(capacity.lab, ledger), lease.pool)
    after = holds.freed(lease, lease.missing + missing, agreed, now)
    entry = Entry(
        at=now,
        pool=lease.pool,
        kind="degraded",
        who="nodegroups",
        what=f"{after.missing} of {lease.nodes} nodes of {lease.called()} are missing",
        why=Sentences((why, reason("capacity.hold-free", money=str(lease.hold - after.hold)))),
        lease=lease.id,
        nodes=after.wanted,
    )
    pool, budget = ledger.pool(lease.pool), ledger.budget(lease.period, agreed.budget.currency)
    ledger.rehold(lease, after, pool=pool, budget=budget, why=entry)
    return missing
