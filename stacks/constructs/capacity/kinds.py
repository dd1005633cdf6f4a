"""The kind of each pool, chosen here and nowhere else. Today every pool is a managed node group."""

from lamplighter.lab.model import Lab
from stacks.constructs.capacity.kind import CapacityRights
from stacks.constructs.capacity.node_group import NodeGroupRights
from stacks.names import Names


def rights(lab: Lab, names: Names) -> CapacityRights:
    """The IAM statements about a lab's pools."""
    return NodeGroupRights(lab, names)
