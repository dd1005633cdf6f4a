"""What a pool should have, for a diagnosis: what its leases justify now, and since when that was ordered."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.data.instance_types import gpu_type
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.target import target_at
from lamplighter.values import instant

WITHOUT_LEASE = timedelta(hours=1)
"""Where nothing is ordered: Kubernetes keeps its events for so long."""


@dataclass(frozen=True)
class Expected:
    """The snapshot's `expected` part."""

    pool: str
    instance_type: str
    nodes: int
    gpus_per_node: int | None
    """Physical ones; None for a type that is not known."""
    since: datetime

    def to_json(self) -> dict[str, object]:
        """As the contract has it."""
        found: dict[str, object] = {
            "pool": self.pool,
            "instance_type": self.instance_type,
            "nodes": self.nodes,
            "gpus_per_node": self.gpus_per_node,
            "since": instant.written(self.since.replace(microsecond=0)),
        }
        if self.gpus_per_node is None:
            del found["gpus_per_node"]
        return found


def expected(
    pool: str,
    leases: Iterable[Lease],
    now: datetime,
    *,
    max_nodes: int,
    instance_type: str,
) -> Expected:
    """What the leases in force were granted, since the last of them had its nodes ordered.

    What a shortage keeps away is expected all the same, though it is ordered no more until it is asked for again.
    """
    target = target_at(leases, now, max_nodes)
    ordered = [lease.ordered or lease.opens for lease in target.in_force]
    since = min(now, max(ordered)) if ordered else now - WITHOUT_LEASE
    known = gpu_type(instance_type)
    nodes = min(max_nodes, sum(lease.nodes for lease in target.in_force))
    return Expected(pool, instance_type, nodes, known.gpus if known else None, since)
