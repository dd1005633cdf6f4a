"""What a diagnosis expects of a pool: the nodes that its leases justify now, and since when they are ordered."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lamplighter.data.instance_types import gpu_type
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.target import target_at
from lamplighter.reasons.fields import to_document

WITHOUT_LEASE = timedelta(hours=1)
"""Used where nothing is ordered: Kubernetes keeps its events for one hour."""


@dataclass(frozen=True)
class Expected:
    """The snapshot's `expected` part."""

    pool: str
    instance_type: str
    nodes: int
    gpus_per_node: int | None
    """Physical GPUs; None for an unknown instance type."""
    since: datetime
    kind: str | None = None
    """The kind of capacity of a pool that a NodePool sizes."""
    nodepool: str | None = None
    """The name of the NodePool."""
    instance_types: tuple[str, ...] | None = None
    """All types that its nodes may have, where there are several."""

    def to_json(self) -> dict[str, object]:
        """As the contract has it."""
        document = to_document(replace(self, since=self.since.replace(microsecond=0)))
        return {key: value for key, value in document.items() if value is not None}


def expected(
    pool: str,
    leases: Iterable[Lease],
    now: datetime,
    *,
    max_nodes: int,
    instance_type: str,
) -> Expected:
    """The nodes of the leases in force, since the nodes of the last of them were ordered.

    Nodes that a shortage keeps away are still expected, although they are not ordered again yet.
    """
    target = target_at(leases, now, max_nodes)
    ordered = [lease.ordered or lease.opens for lease in target.in_force]
    since = min(now, max(ordered)) if ordered else now - WITHOUT_LEASE
    known = gpu_type(instance_type)
    nodes = min(max_nodes, sum(lease.nodes for lease in target.in_force))
    return Expected(pool, instance_type, nodes, known.gpus if known else None, since)
