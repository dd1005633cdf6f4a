"""The only writer of a pool's size: under the pool's lock, as a whole target.

EKS has no generation numbers. So after each write the pool's generation is read again from the ledger; if it changed,
the write is repeated with the new target. The caller says whether the size may only grow or only shrink.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.pool.evidence import NodeGroup, ScalingGroup
from lamplighter.domain.pool.pool import Fence
from lamplighter.domain.pool.target import Target
from lamplighter.errors import Stale, TryLater
from lamplighter.reasons.reason import reason

# A pool whose generation changes at each of these writes is tried again later.
ATTEMPTS = 4
RAIL_AFTER = timedelta(minutes=15)
"""How long EKS may be busy with an update before a lower size is written to the group itself."""


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
    """Since when this size is wanted: after RAIL_AFTER the order no longer waits for EKS."""
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
        generation = capacity.ledger.pool(order.pool).generation
        nodegroup, group = _found(capacity, order)
        opens = order.direction is Direction.UP
        # Leave out leases that are not open yet or are paused: their own run orders their nodes.
        target = capacity.target(order.pool, nodegroup, opening=order.lease if opens else None)
        before = group.desired if group else nodegroup.desired if nodegroup else 0
        size = _towards(order.direction, _without(order, target.nodes, group), before)
        if found is not None:
            whole = capacity.target(order.pool, nodegroup).nodes
            # Nodes that the first write removed for an older target come back. A close never orders more than it found.
            size = min(size, whole) if opens else min(_without(order, whole, group), found)
        size = min(size, max(nodegroup.maximum if nodegroup else 0, before))
        _still_writing(capacity, fence)
        if size > before:
            _wait_for_a_deploy(capacity, order)
        update = _write(capacity, order, nodegroup, group, size)
        return generation, Written(target, size, before, update, capacity.now())


def put_bounds_back(capacity: CapacityServices, pool: str, holder: str) -> None:
    """Set minimum 0 and the lab's maximum; the size stays. TryLater while another writer or update is active."""
    with capacity.ledger.writing(pool, holder, capacity.now()) as fence:
        nodegroup = capacity.nodegroup(pool)
        group = capacity.group_of(nodegroup)
        desired = group.desired if group else nodegroup.desired
        _still_writing(capacity, fence)
        capacity.nodegroups.bound(nodegroup.name, max(capacity.lab.pools[pool].max_nodes, desired), desired)


def _still_writing(capacity: CapacityServices, fence: Fence) -> None:
    try:
        capacity.ledger.still_writing(fence, capacity.now())
    except Stale as lost:
        # Nothing is written yet, so another try is safe: it takes the lock anew.
        raise TryLater(lost.said) from lost


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


def _found(capacity: CapacityServices, order: Order) -> tuple[NodeGroup | None, ScalingGroup | None]:
    """The node group and its Auto Scaling group; a close needs the Auto Scaling group only."""
    name = capacity.lab.nodegroup_name(order.pool)
    nodegroup = capacity.nodegroups.read(name)
    if nodegroup is not None:
        return nodegroup, capacity.group_of(nodegroup)
    left = capacity.autoscaling.group_of(capacity.lab.cluster_name, name)
    if left is None or order.direction is Direction.UP:
        capacity.nodegroup(order.pool)  # raises BadInput
    return None, left


def _without(order: Order, target: int, group: ScalingGroup | None) -> int:
    if not order.without or group is None:
        return target
    return max(target - order.without, min(target, len(group.staying)))


def _towards(direction: Direction, target: int, before: int) -> int:
    return max(target, before) if direction is Direction.UP else min(target, before)


def _write(
    capacity: CapacityServices,
    order: Order,
    nodegroup: NodeGroup | None,
    group: ScalingGroup | None,
    size: int,
) -> str | None:
    if group is not None and 0 < size < group.desired:
        _remove(capacity, order, group, size)
    behind = group is not None and group.desired < size
    if nodegroup is not None and (nodegroup.desired != size or nodegroup.minimum > 0 or behind):
        try:
            return capacity.nodegroups.scale(nodegroup.name, size)
        except TryLater:
            if group is None or size >= group.desired or capacity.now() - order.since < RAIL_AFTER:
                raise
            capacity.autoscaling.lower(group, size)
            return None
    if group is not None:
        capacity.autoscaling.lower(group, size)
    return None


def _remove(capacity: CapacityServices, order: Order, group: ScalingGroup, size: int) -> None:
    """Remove the emptied nodes, then the youngest; Auto Scaling would begin with the oldest.

    A node that has not joined Kubernetes yet cannot be emptied. It is young, and pods run on the older ones.
    """
    staying = {member.instance for member in group.staying}
    leaving = [instance for instance in order.leaving if instance in staying][: group.desired - size]
    surplus = len(staying) - len(leaving) - size
    if surplus > 0:
        name = capacity.lab.nodegroup_name(order.pool)
        by_age = capacity.instances.of_nodegroup(capacity.lab.cluster_name, name)
        left = [node.id for node in by_age if node.id in staying and node.id not in leaving]
        leaving += left[-surplus:]
    for instance in leaving:
        capacity.autoscaling.remove(instance)


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
