"""The one way a pool's size is written: under the pool's lock, as a whole target, and looked at again.

EKS knows no generation: after each write the ledger's is read again, and where it moved meanwhile the
write is repeated with what holds now. Which direction a step may go is its own business.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from lamplighter.application.capacity.capacity import Capacity
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.pool.evidence import NodeGroup, ScalingGroup
from lamplighter.domain.pool.pool import Fence
from lamplighter.domain.pool.target import Target
from lamplighter.errors import Stale, TryLater
from lamplighter.reasons.reason import reason

# A busy pool moves now and then; one that moves at every look is asked again later.
LOOKS = 4
RAIL_AFTER = timedelta(minutes=15)
"""How long EKS may be busy with an update before a lower size is written to the group itself."""


class Direction(Enum):
    """Opening only adds, closing only takes: the other half of a target is somebody else's order."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Order:
    """What somebody wants written, and on whose behalf."""

    pool: str
    holder: str
    """Names the run: the same one takes its own lock again."""
    who: str
    direction: Direction
    since: datetime
    """Since when this size is wanted; decides when to stop waiting for EKS."""
    lease: str | None = None
    leaving: Sequence[str] = ()
    """The very instances that a partial shrink has emptied."""
    without: int = 0
    """Nodes of the lease that did not come and are to be ordered no more; what has come by then stays."""


@dataclass(frozen=True)
class Written:
    """What is ordered now."""

    target: Target
    size: int
    before: int
    update_id: str | None
    at: datetime


def write(capacity: Capacity, order: Order) -> Written:
    """Write the pool's target; TryLater while another writer or another update is at it."""
    first: Written | None = None
    for _ in range(LOOKS):
        generation, written = _once(capacity, order, found=first.before if first else None)
        first = first or written
        if capacity.ledger.pool(order.pool).generation == generation:
            done = Written(written.target, written.size, first.before, written.update_id, written.at)
            if done.size != done.before or order.direction is Direction.DOWN:
                capacity.ledger.append_audit(_entry(order, done))
            return done
    raise TryLater(reason("capacity.leases-changed", pool=order.pool, times=LOOKS))


def _once(capacity: Capacity, order: Order, *, found: int | None) -> tuple[int, Written]:
    """One write; `found` is the size before the first, where this one puts that right."""
    with capacity.ledger.writing(order.pool, order.holder, capacity.now()) as fence:
        generation = capacity.ledger.pool(order.pool).generation
        nodegroup, group = _found(capacity, order)
        opens = order.direction is Direction.UP
        # Whose opening nobody has come to yet, or a pause keeps back, has its nodes ordered by its own run.
        target = capacity.target(order.pool, nodegroup, opening=order.lease if opens else None)
        before = group.desired if group else nodegroup.desired if nodegroup else 0
        size = _towards(order.direction, _without(order, target.nodes, group), before)
        if found is not None:
            whole = capacity.target(order.pool, nodegroup).nodes
            # What was taken a moment ago for an older target comes back; who closes never orders more than it found.
            size = min(size, whole) if opens else min(_without(order, whole, group), found)
        size = min(size, max(nodegroup.maximum if nodegroup else 0, before))
        _still_writing(capacity, fence)
        if size > before:
            _wait_for_a_deploy(capacity, order)
        update = _write(capacity, order, nodegroup, group, size)
        return generation, Written(target, size, before, update, capacity.now())


def put_bounds_back(capacity: Capacity, pool: str, holder: str) -> None:
    """Minimum 0 and the lab's maximum; the size stays. TryLater while another writer or update is at it."""
    with capacity.ledger.writing(pool, holder, capacity.now()) as fence:
        nodegroup = capacity.nodegroup(pool)
        group = capacity.group_of(nodegroup)
        desired = group.desired if group else nodegroup.desired
        _still_writing(capacity, fence)
        capacity.nodegroups.bound(nodegroup.name, max(capacity.lab.pools[pool].max_nodes, desired), desired)


def _still_writing(capacity: Capacity, fence: Fence) -> None:
    try:
        capacity.ledger.still_writing(fence, capacity.now())
    except Stale as lost:
        # Nothing was written yet, so asking again is safe: another try takes the lock anew.
        raise TryLater(lost.said) from lost


def _wait_for_a_deploy(capacity: Capacity, order: Order) -> None:
    """CloudFormation read the size and is about to write it: what is added now, it would take away.

    Read here, after the lease was granted: the deploy reads the leases after it set its mark.
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


def _found(capacity: Capacity, order: Order) -> tuple[NodeGroup | None, ScalingGroup | None]:
    """The node group and the group behind it; the latter alone is enough for who only takes away."""
    name = capacity.lab.nodegroup_name(order.pool)
    nodegroup = capacity.nodegroups.read(name)
    if nodegroup is not None:
        return nodegroup, capacity.group_of(nodegroup)
    left = capacity.autoscaling.group_of(capacity.lab.cluster_name, name)
    if left is None or order.direction is Direction.UP:
        capacity.nodegroup(order.pool)  # says that it is not there
    return None, left


def _without(order: Order, target: int, group: ScalingGroup | None) -> int:
    if not order.without or group is None:
        return target
    return max(target - order.without, min(target, len(group.staying)))


def _towards(direction: Direction, target: int, before: int) -> int:
    return max(target, before) if direction is Direction.UP else min(target, before)


def _write(
    capacity: Capacity, order: Order, nodegroup: NodeGroup | None, group: ScalingGroup | None, size: int
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


def _remove(capacity: Capacity, order: Order, group: ScalingGroup, size: int) -> None:
    """Take out the very nodes that were emptied, then the youngest; Auto Scaling would begin with the oldest.

    What has not joined Kubernetes yet cannot be emptied: it is young, and the older ones have the work.
    """
    staying = {member.instance for member in group.staying}
    leaving = [instance for instance in order.leaving if instance in staying][: group.desired - size]
    surplus = len(staying) - len(leaving) - size
    if surplus > 0:
        name = capacity.lab.nodegroup_name(order.pool)
        by_age = capacity.instances.of_nodegroup(capacity.lab.cluster_name, name)
        left = [each.id for each in by_age if each.id in staying and each.id not in leaving]
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
