"""When each node of a pool ran, as far as AWS remembers."""

from datetime import datetime

from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.billing.metering import NodeLife, runs
from lamplighter.domain.capacity.evidence import Part, Seen


def nodes_lives(capacity: CapacityServices, pool: str, seen: Seen, now: datetime) -> tuple[NodeLife, ...]:
    """Every node's life of a pool that was seen."""
    history = capacity.see(pool, {Part.HISTORY}, seen)
    return runs(history.activities, seen.instances, now)


def lives_of_pool(capacity: CapacityServices, pool: str, now: datetime) -> tuple[NodeLife, ...]:
    """Every node's life, without reading the members: a person who only looks may have no right to do so."""
    seen = capacity.see(pool, {Part.SIZE, Part.INSTANCES, Part.HISTORY})
    return runs(seen.activities, seen.instances, now)
