"""When each node of a pool ran, as far as Auto Scaling and EC2 remember."""

from datetime import datetime

from lamplighter.application.capacity.capacity import Capacity, PoolReading
from lamplighter.domain.money.metering import NodeLife, runs

ACTIVITY_PAGES = 10


def nodes_lives(capacity: Capacity, seen: PoolReading, now: datetime) -> tuple[NodeLife, ...]:
    """Every node's life, as far as Auto Scaling and EC2 remember."""
    activities = capacity.autoscaling.activities(seen.group.name, ACTIVITY_PAGES) if seen.group else ()
    return runs(activities, seen.instances, now)
