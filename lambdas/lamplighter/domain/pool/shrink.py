"""Which nodes are removed when a pool shrinks and keeps some of its nodes.

Decides by the leases whose work runs on a node. The steps drain and terminate the chosen nodes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.reasons.reason import Reason, reason


@dataclass(frozen=True)
class ShrinkNode:
    """A node of the pool. `gpu_leases` are the leases whose pods hold a GPU on it; "" stands for an unknown lease."""

    name: str
    instance: str
    zone: str
    launched: datetime
    gpu_leases: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RemovedNode:
    """A node that is removed, and why this one."""

    node: ShrinkNode
    reason: Reason


def choose(nodes: Sequence[ShrinkNode], surplus: int, ending: str | None) -> tuple[RemovedNode, ...]:
    """The `surplus` nodes to remove, in order.

    A node without GPU pods comes first, then one with pods of the ending lease only, then any other. Among equals the
    fullest zone comes first, so that AWS does not rebalance afterwards, and in a zone the youngest node.
    """
    staying = list(nodes)
    removed: list[RemovedNode] = []
    while staying and len(removed) < surplus:
        nodes_of_zone = Counter(node.zone for node in staying)
        node = min(
            staying,
            key=lambda node: (
                _harm(node, ending),
                -nodes_of_zone[node.zone],
                -node.launched.timestamp(),
                node.name,
            ),
        )
        staying.remove(node)
        removed.append(RemovedNode(node, _reason(node, ending)))
    return tuple(removed)


def _harm(node: ShrinkNode, ending: str | None) -> int:
    if not node.gpu_leases:
        return 0
    return 1 if node.gpu_leases == {ending} else 2


def _reason(node: ShrinkNode, ending: str | None) -> Reason:
    match _harm(node, ending):
        case 0:
            return reason("pool.removed.free", node=node.name)
        case 1:
            return reason("pool.removed.ending", node=node.name, lease=ending or "")
        case _:
            return reason("pool.removed.youngest", node=node.name)
