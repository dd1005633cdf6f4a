"""Which nodes go when a pool shrinks by less than all of them.

Decides by whose work would be hit; draining and terminating those very nodes is left to the steps.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.reasons.reason import Reason, reason


@dataclass(frozen=True)
class ShrinkNode:
    """A node of the pool; `gpu_leases` are the leases whose pods hold a GPU on it, "" where unknown."""

    name: str
    instance: str
    zone: str
    launched: datetime
    gpu_leases: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RemovedNode:
    """A node that goes, and why this one."""

    node: ShrinkNode
    reason: Reason


def choose(nodes: Sequence[ShrinkNode], surplus: int, ending: str | None) -> tuple[RemovedNode, ...]:
    """The `surplus` nodes to remove, in order.

    First one with no GPU pod, then one with pods of the ending lease only, then any; among equals one
    in the fullest zone, so that Auto Scaling does not rebalance afterwards, and there the youngest.
    """
    staying = list(nodes)
    leaving: list[RemovedNode] = []
    while staying and len(leaving) < surplus:
        crowd = Counter(node.zone for node in staying)
        node = min(
            staying,
            key=lambda node: (
                _harm(node, ending),
                -crowd[node.zone],
                -node.launched.timestamp(),
                node.name,
            ),
        )
        staying.remove(node)
        leaving.append(RemovedNode(node, _reason(node, ending)))
    return tuple(leaving)


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
