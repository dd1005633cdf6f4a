"""The size that a NodePool has when a deploy writes it."""

from lamplighter.adapters.capacity.node_pool.node_pools import NodePools
from lamplighter.adapters.kubernetes.connection import connect


def present_size(cluster: str, name: str) -> int | None:
    """Its replicas; None where it does not exist."""
    found = NodePools(connect(cluster)).read(name)
    return None if found is None else found.replicas or 0
