"""The IAM roles of NodePools: the one that launches a pool's instances, and the one of Karpenter's nodes.

The failsafe's lock is put on the role that launches, and an opening removes the lock.
"""

from typing import TYPE_CHECKING

from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.values.role_name import role_name

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

CONTROLLER, CONTROL_PLANE = "karpenter", "control-plane"
NODES = "karpenter-node"


def launching_role(lab: "Lab", pool: str) -> str | None:
    """The role's name; None where the lab does not know it, and so nobody puts a lock on it."""
    role = launching_role_path(lab, pool)
    return role.rpartition("/")[2] if role is not None else None


def launching_role_path(lab: "Lab", pool: str) -> str | None:
    """The same with the role's path, as its ARN has it: IAM's calls take the name alone."""
    if lab.pools[pool].kind != KARPENTER.code:
        # Auto Mode launches with the cluster's role.
        return None if lab.cluster.existing else role_name(lab.name, lab.region, CONTROL_PLANE)
    karpenter = lab.cluster.karpenter
    if karpenter is not None and not karpenter.existing:
        return role_name(lab.name, lab.region, CONTROLLER)
    return karpenter.role if karpenter is not None else None


def launching_boundary(lab: "Lab", pool: str) -> str | None:
    """The purpose of the permissions boundary on that role; None for a role that is not the lab's."""
    if lab.pools[pool].kind != KARPENTER.code:
        return None if lab.cluster.existing else CONTROL_PLANE
    karpenter = lab.cluster.karpenter
    return CONTROLLER if karpenter is not None and not karpenter.existing else None


def adopted_locks(lab: "Lab") -> dict[str, str]:
    """By adopted pool: the role of its controller with its path, if known. A lock there outlives the lab."""
    roles = {
        pool: launching_role_path(lab, pool)
        for pool in lab.pools_with("node pool")
        if lab.pools[pool].existing is not None
    }
    return {pool: role for pool, role in roles.items() if role is not None}


def nodes_role(lab: "Lab", pool: str) -> str | None:
    """The role in the instance profile that the lab makes for Karpenter's nodes; None for nodes of another class."""
    ours = lab.pools[pool].kind == KARPENTER.code and lab.pools[pool].existing is None
    return role_name(lab.name, lab.region, NODES) if ours else None
