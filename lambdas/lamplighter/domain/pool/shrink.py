"""Which nodes go when a pool shrinks by less than all of them.

Decides by whose work would be hit; draining and terminating those very nodes is left to the steps.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


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
    reason: str


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


def _reason(node: ShrinkNode, ending: str | None) -> str:
    match _harm(node, ending):
        case 0:
            return f"{node.name} goes: no pod holds a GPU on it"
        case 1:
            return f"{node.name} goes: only pods of the ending lease {ending} hold GPUs on it"
        case _:
            return f"{node.name} goes: every node has work of other leases, and it is the youngest"
