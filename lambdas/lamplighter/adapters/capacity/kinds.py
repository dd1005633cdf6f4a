"""The capacity of a lab's pools, by kind: the one place that knows the implementations which call AWS."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lamplighter.adapters.border import border
from lamplighter.adapters.capacity.node_group.capacity import NodeGroupCapacity
from lamplighter.domain.capacity.kinds import NODE_GROUP, kind_of
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, KARPENTER, NodePoolKind

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection
    from lamplighter.domain.capacity.evidence import Claim
    from lamplighter.domain.capacity.node_pool.controller import Health
    from lamplighter.domain.capacity.port import Capacity
    from lamplighter.lab.model import Lab


@runtime_checkable
class Connecting(Protocol):
    """A capacity with clients that take long to make."""

    def connect(self, *, instances: bool) -> None:
        """Make them now; with `instances` that of EC2 too."""


def _node_pools(lab: "Lab", kind: NodePoolKind) -> "Capacity":
    """Loaded only for a lab with a NodePool."""
    from lamplighter.adapters.capacity.node_pool.capacity import NodePoolCapacity  # noqa: PLC0415

    return NodePoolCapacity(lab, kind)


IMPLEMENTATIONS: "dict[str, Callable[[Lab], Capacity]]" = {
    NODE_GROUP: NodeGroupCapacity,
    KARPENTER.code: partial(_node_pools, kind=KARPENTER),
    AUTO_MODE.code: partial(_node_pools, kind=AUTO_MODE),
}


def of_lab(lab: "Lab") -> "Mapping[str, Capacity]":
    """The capacity of each kind that a pool of the lab has."""
    return {kind: IMPLEMENTATIONS[kind](lab) for kind in {kind_of(lab, pool) for pool in lab.pools}}


def of_pool(lab: "Lab", pool: str) -> "Capacity":
    """The capacity of one pool, for who needs no other."""
    return IMPLEMENTATIONS[kind_of(lab, pool)](lab)


@border
def claims(lab: "Lab", pool: str, connection: "Connection") -> "tuple[Claim, ...]":
    """The claims of a pool's nodes, by one call over a connection that stands; none where its kind has none."""
    if not lab.pools[pool].has("claims"):
        return ()
    from lamplighter.adapters.capacity.node_pool.claims import Claims  # noqa: PLC0415

    return Claims(connection).of(lab.node_pool_name(pool))


@border
def controller_health(lab: "Lab", connection: "Connection") -> "Health":
    """How Karpenter is, over a connection that stands. Raises OutsideFailed."""
    from lamplighter.adapters.capacity.node_pool.karpenter import health  # noqa: PLC0415

    karpenter = lab.cluster.karpenter
    return health(connection, ours=karpenter is not None and not karpenter.existing)


def connect(capacities: "Mapping[str, Capacity]", *, instances: bool) -> None:
    """Make the clients now, while a function starts; with `instances` that of EC2 too, which loads slowest."""
    for capacity in capacities.values():
        if isinstance(capacity, Connecting):
            capacity.connect(instances=instances)
