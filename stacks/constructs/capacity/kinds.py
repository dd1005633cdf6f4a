"""The kind of each pool, chosen here and nowhere else."""

from typing import assert_never

from lamplighter.lab.kinds import Code
from lamplighter.lab.model import Lab
from stacks.constructs.capacity.each_kind import EachKind
from stacks.constructs.capacity.kind import CapacityRights
from stacks.constructs.capacity.node_group import NodeGroupRights
from stacks.constructs.capacity.node_pool import NodePoolRights
from stacks.names import Names


def rights(lab: Lab, names: Names) -> CapacityRights:
    """The IAM statements about a lab's pools."""
    kinds = dict.fromkeys(pool.kind for pool in lab.pools.values())
    return EachKind([_of_kind(lab, names, kind) for kind in kinds])


def _of_kind(lab: Lab, names: Names, kind: Code) -> CapacityRights:
    match kind:
        case "node-group":
            return NodeGroupRights(lab, names)
        case "karpenter" | "auto-mode":
            return NodePoolRights(lab, names, kind)
        case _:
            assert_never(kind)
