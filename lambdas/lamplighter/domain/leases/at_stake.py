"""What a lease's end takes away: which nodes go, and whose work is on them, in words for the warning before.

Which nodes those are is decided by shrink.py, on what the cluster function sees.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lamplighter.reasons.reason import Said, reason


@dataclass(frozen=True, slots=True)
class AtStake:
    """The nodes that go, the pods on them that are work, and how many nodes stay for others."""

    nodes: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    """By namespace and name; those that hold GPUs first."""
    staying: int = 0

    @property
    def partial(self) -> bool:
        """Whether the pool stays open for somebody else."""
        return bool(self.staying)

    def said(self) -> Said:
        """The sentence of the warning; empty where nobody's work is on a node that goes."""
        if not self.nodes:
            return ""
        if not self.pods:
            if not self.partial:
                return ""
            return reason("notice.warned.nodes", nodes=self.nodes, count=len(self.nodes))
        if self.partial:
            return reason(
                "notice.warned.nodes-and-work", nodes=self.nodes, work=self.pods, count=len(self.nodes)
            )
        return reason("notice.warned.work", work=self.pods)

    def to_json(self) -> dict[str, object]:
        """What the cluster function answers."""
        return {"nodes": list(self.nodes), "pods": list(self.pods), "staying": self.staying}

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> "AtStake":
        """Reads what to_json wrote; nothing at stake where nobody could say."""
        return cls(_texts(found.get("nodes")), _texts(found.get("pods")), int(str(found.get("staying") or 0)))


def _texts(found: object) -> tuple[str, ...]:
    return tuple(map(str, found)) if isinstance(found, Sequence) and not isinstance(found, str) else ()
