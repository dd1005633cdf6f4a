"""What a lease's end takes away: which nodes go, and whose work is on them, in words for the warning before.

Which nodes those are is decided by shrink.py, on what the cluster function sees.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST_NAMED = 5


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

    def said(self) -> str:
        """The sentence of the warning; empty where nobody's work is on a node that goes."""
        if not self.nodes:
            return ""
        going = (
            f"{' and '.join(self.nodes)} {'goes' if len(self.nodes) == 1 else 'go'}" if self.partial else ""
        )
        if not self.pods:
            return f"Of its nodes {going}; no work is on {_them(self.nodes)}." if going else ""
        named = ", ".join(self.pods[:MOST_NAMED])
        more = len(self.pods) - MOST_NAMED
        work = f"{named}{f' and {more} more' if more > 0 else ''}"
        if going:
            return f"Of its nodes {going}, and with {_them(self.nodes)} the work of {work}."
        return f"It ends the work of {work}."

    def to_json(self) -> dict[str, object]:
        """What the cluster function answers."""
        return {"nodes": list(self.nodes), "pods": list(self.pods), "staying": self.staying}

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> "AtStake":
        """Reads what to_json wrote; nothing at stake where nobody could say."""
        return cls(_texts(found.get("nodes")), _texts(found.get("pods")), int(str(found.get("staying") or 0)))


def _them(nodes: Sequence[str]) -> str:
    return "it" if len(nodes) == 1 else "them"


def _texts(found: object) -> tuple[str, ...]:
    return tuple(map(str, found)) if isinstance(found, Sequence) and not isinstance(found, str) else ()
