"""The kinds of capacity, and what each has. How a kind works is in its rooms, which domain/capacity/kinds.py lists.

Code outside those rooms asks a pool whether it has something (`Pool.has`), never of which kind it is. A choice that
only a kind itself can make is a `match` over `Code` that ends in `assert_never`: a new kind then fails the type check.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Code = Literal["node-group", "karpenter", "auto-mode"]
"""A kind as a lab file names it."""
Trait = Literal[
    # An EKS managed node group holds its size, through an Auto Scaling group.
    "group",
    # A NodePool holds its size, and only the cluster shows it. Its controller may start nodes outside the lab's pools.
    "node pool",
    # Kubernetes has an object for each of its nodes, from the order on. It says how long the node may live.
    "claims",
    # Pods may bring its nodes.
    "dynamic",
    # A policy of the cluster lets nodes start only under a lease, and a lock on a role stops what launches them.
    "launch bar",
    # Its failsafe is a state machine: no single call of AWS brings it to zero.
    "failsafe machine",
    # Karpenter starts and ends its nodes.
    "karpenter",
    # EKS Auto Mode does.
    "auto mode",
    # `ami_type` says its image; otherwise `ami_type` follows from the kind.
    "image type",
    # `image` is an alias of Karpenter.
    "image alias",
    # AWS chooses its image, a Bottlerocket that announces whole GPUs. No setting of the lab changes that.
    "built-in GPUs",
    # AWS adds a fee to the price of an instance.
    "fee",
    # Nobody has seen its launch bar and its lock on a real account yet.
    "experimental",
]


class Kind(NamedTuple):
    """What a kind of capacity has."""

    noun: str
    """What people call the thing that holds its size."""
    controller: str
    """What starts and ends its nodes."""
    traits: frozenset[Trait]


_NODE_POOL: Final[frozenset[Trait]] = frozenset(
    {"node pool", "claims", "dynamic", "launch bar", "failsafe machine"}
)
KINDS: Mapping[Code, Kind] = {
    "node-group": Kind("node group", "EKS", frozenset({"group", "image type"})),
    "karpenter": Kind("NodePool", "Karpenter", _NODE_POOL | {"karpenter", "image alias"}),
    "auto-mode": Kind(
        "NodePool", "EKS Auto Mode", _NODE_POOL | {"auto mode", "built-in GPUs", "fee", "experimental"}
    ),
}
