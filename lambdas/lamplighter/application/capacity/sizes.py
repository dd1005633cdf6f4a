"""The only writer of a pool's size: under the pool's lock, as a whole target.

AWS has no generation numbers. So after each write the pool's generation is read again from the ledger; if it changed,
the write is repeated with the new target. The caller says whether the size may only grow or only shrink.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.evidence import SIZES, Part, Seen
from lamplighter.domain.capacity.port import Removal
from lamplighter.domain.pool.pool import Fence, PoolState
from lamplighter.domain.pool.target import Target
from lamplighter.domain.schedules.failsafe import failsafe_instant
from lamplighter.errors import Stale, TryLater
from lamplighter.reasons.reason import reason

# A pool whose generation changes at each of these writes is tried again later.
ATTEMPTS = 4
RAIL_AFTER = timedelta(minutes=15)
"""How long AWS may be busy with another change before a smaller size is written past that."""


class Direction(Enum):
    """An opening only adds nodes, a close only removes them."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Order:
    """A size to write, and who asks for it."""

    pool: str
    holder: str
    """The run that asks: the same run may take its own lock again."""
    who: str
    direction: Direction
    since: datetime
    """Since when this size is wanted: after RAIL_AFTER the order no longer waits for another change."""
    lease: str | None = None
    leaving: Sequence[str] = ()
    """The instances that a partial shrink has emptied."""
    without: int = 0
    """How many missing nodes of the lease to stop ordering. Nodes that came meanwhile stay."""


@dataclass(frozen=True)
class Written:
    """The written size."""

    target: Target
    size: int
    before: int
    update_id: str | None
    at: datetime


def write(capacity: CapacityServices, order: Order) -> Written:
    """Write the pool's target; TryLater while another writer or another update is active."""
    first: Written | None = None
    for _ in range(ATTEMPTS):
        generation, written = _once(capacity, order, found=first.before if first else None)
        first = first or written
        if capacity.ledger.pool(order.pool).generation == generation:
            done = Written(written.target, written.size, first.before, written.update_id, written.at)
            if done.size != done.before or order.direction is Direction.DOWN:
                capacity.ledger.append_audit(_entry(order, done))
            return done
    raise TryLater(reason("capacity.leases-changed", pool=order.pool, times=ATTEMPTS))


def _once(capacity: CapacityServices, order: Order, *, found: int | None) -> tuple[int, Written]:
    """One write; `found` is the size before the first write, where this one corrects it."""
    with capacity.ledger.writing(order.pool, order.holder, capacity.now()) as fence:
        state = capacity.ledger.pool(order.pool)
        seen = _seen(capacity, order)
        opens = order.direction is Direction.UP
        # Leave out leases that are not open yet or are paused: their own run orders their nodes.
        target = capacity.target(order.pool, seen, opening=order.lease if opens else None)
        before = seen.size
        size = _towards(order.direction, _without(order, target.nodes, seen), before)
        if found is not None:
            whole = capacity.target(order.pool, seen).nodes
            # Nodes that the first write removed for an older target come back. A close never orders more than it found.
            size = min(size, whole) if opens else min(_without(order, whole, seen), found)
        size = min(size, max(seen.maximum, before))
        still_writing(capacity, fence)
        if size > before:
            _wait_for_the_failsafe(capacity, target, state)
            _wait_for_a_deploy(capacity, order)
        update = _write(capacity, order, seen, size)
        return state.generation, Written(target, size, before, update, capacity.now())


def put_bounds_back(capacity: CapacityServices, pool: str, holder: str) -> None:
    """Set minimum 0 and the lab's maximum; the size stays. TryLater while another writer or update is active."""
    with capacity.ledger.writing(pool, holder, capacity.now()) as fence:
        seen = capacity.existing(pool, SIZES)
        maximum = max(capacity.lab.pools[pool].max_nodes, seen.size)
        still_writing(capacity, fence)
        capacity.of(pool).order(pool, seen.size, seen, maximum=maximum)


def still_writing(capacity: CapacityServices, fence: Fence) -> None:
    """Checks the lock right before a write; TryLater where it was lost."""
    try:
        capacity.ledger.still_writing(fence, capacity.now())
    except Stale as lost:
        # Nothing is written yet, so another try is safe: it takes the lock anew.
        raise TryLater(lost.said) from lost


def _wait_for_the_failsafe(capacity: CapacityServices, target: Target, state: PoolState) -> None:
    """Wait until the failsafe is due after the last of these leases: the function that armed it may have read fewer."""
    due = failsafe_instant(target.in_force, capacity.now())
    if due is not None and (state.failsafe_at is None or state.failsafe_at < due):
        raise TryLater(reason("capacity.await-failsafe", pool=state.name, due=due))


def _wait_for_a_deploy(capacity: CapacityServices, order: Order) -> None:
    """Wait for a deploy: CloudFormation has read the size, and its write would remove nodes that are added now.

    The mark is read after the lease was granted, and the deploy reads the leases after it set its mark.
    """
    mark = capacity.ledger.deploy_mark(order.pool)
    now = capacity.now()
    if mark is None or not mark.stands(now):
        return
    if capacity.ledger.note_held_up(order.pool, order.lease or "", mark):
        capacity.ledger.append_audit(
            Entry(
                at=now,
                pool=order.pool,
                kind="held-up",
                who="cdk deploy",
                what=reason("capacity.deploy-holds-up", lease=order.lease or "", pool=order.pool),
                why=reason("capacity.deploy-writes", until=mark.until),
                lease=order.lease,
            )
        )
    raise TryLater(reason("capacity.await-deploy", pool=order.pool, until=mark.until))


def _seen(capacity: CapacityServices, order: Order) -> Seen:
    """What is ordered now, and what its controller lists; a close needs only the controller."""
    seen = capacity.see(order.pool, SIZES)
    if not seen.exists and (seen.controller is None or order.direction is Direction.UP):
        raise capacity.missing(order.pool)
    return seen


def _without(order: Order, target: int, seen: Seen) -> int:
    if not order.without or seen.controller is None:
        return target
    return max(target - order.without, min(target, len(seen.staying)))


def _towards(direction: Direction, target: int, before: int) -> int:
    return max(target, before) if direction is Direction.UP else min(target, before)


def _write(capacity: CapacityServices, order: Order, seen: Seen, size: int) -> str | None:
    if seen.controller is not None and 0 < size < seen.size:
        _remove(capacity, order, seen, size)
    insist = capacity.now() - order.since >= RAIL_AFTER
    return capacity.of(order.pool).order(order.pool, size, seen, insist=insist)


def _remove(capacity: CapacityServices, order: Order, seen: Seen, size: int) -> None:
    """Remove the emptied nodes, then the youngest; left to itself, the controller might begin with the oldest.

    A node that has not joined Kubernetes yet cannot be emptied. It is young, and pods run on the older ones.
    """
    staying = {member.instance for member in seen.staying}
    leaving = [instance for instance in order.leaving if instance in staying][: seen.size - size]
    surplus = len(staying) - len(leaving) - size
    if surplus > 0:
        listed = [node.id for node in capacity.see(order.pool, {Part.INSTANCES}, seen).instances]
        # EC2 lists an instance that was launched just now a moment later: it is the youngest.
        by_age = [*listed, *sorted(staying.difference(listed))]
        left = [name for name in by_age if name in staying and name not in leaving]
        leaving += left[-surplus:]
    capacity.of(order.pool).remove(order.pool, leaving, Removal.FEWER, seen)


def _entry(order: Order, written: Written) -> Entry:
    return Entry(
        at=written.at,
        pool=order.pool,
        kind="scaled",
        who=order.who,
        what=reason("capacity.ordered", nodes=written.size, pool=order.pool, before=written.before),
        why=written.target.reason,
        lease=order.lease,
        nodes=written.size,
    )
