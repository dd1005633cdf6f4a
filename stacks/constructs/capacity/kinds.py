"""The kind of each pool, chosen here and nowhere else."""

from lamplighter.lab.model import Lab
from stacks.constructs.capacity.each_kind import EachKind
from stacks.constructs.capacity.kind import CapacityRights
from stacks.constructs.capacity.node_group import NodeGroupRights
from stacks.constructs.capacity.node_pool import NodePoolRights
from stacks.names import Names


def rights(lab: Lab, names: Names) -> CapacityRights:
    """The IAM statements about a lab's pools."""
    kinds = dict.fromkeys(pool.kind for pool in lab.pools.values())
    return EachKind(
        [
            NodeGroupRights(lab, names) if kind == "node-group" else NodePoolRights(lab, names, kind)
            for kind in kinds
        ]
    )
