"""When each node of a pool ran, as far as Auto Scaling and EC2 remember."""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.application.capacity.services import CapacityServices, PoolReading
from lamplighter.domain.billing.metering import NodeLife, runs
from lamplighter.domain.pool.evidence import Instance

ACTIVITY_PAGES = 10


def nodes_lives(capacity: CapacityServices, seen: PoolReading, now: datetime) -> tuple[NodeLife, ...]:
    """Every node's life of a pool that was read."""
    return _lives(capacity, seen.group.name if seen.group else None, seen.instances, now)


def lives_of_pool(capacity: CapacityServices, pool: str, now: datetime) -> tuple[NodeLife, ...]:
    """Every node's life, without reading the Auto Scaling group: a person who only looks may have no right to do so."""
    name, cluster = capacity.lab.nodegroup_name(pool), capacity.lab.cluster_name
    node_group = capacity.nodegroups.read(name)
    instances = capacity.instances.of_nodegroup(cluster, name)
    return _lives(capacity, node_group.group if node_group else None, instances, now)


def _lives(
    capacity: CapacityServices, group: str | None, instances: Sequence[Instance], now: datetime
) -> tuple[NodeLife, ...]:
    activities = capacity.autoscaling.activities(group, ACTIVITY_PAGES) if group else ()
    return runs(activities, instances, now)
