"""The nodes and pods that end with a lease, for the warning before its end.

shrink.py chooses the nodes, from what the cluster function sees.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lamplighter.data.texts import ENGLISH, Texts

MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class AtStake:
    """The nodes that go, the pods of users on them, and the number of nodes that stay for other leases."""

    nodes: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    """Namespace and name; pods with GPUs first."""
    staying: int = 0

    @property
    def partial(self) -> bool:
        """Whether the pool stays open for another lease."""
        return bool(self.staying)

    def said(self, texts: Texts = ENGLISH) -> str:
        """The sentence of the warning; empty if no user's pod is on these nodes."""
        nodes = texts.joined(self.nodes)
        if not self.nodes:
            return ""
        if not self.pods:
            gone = self.partial
            return texts.say("notice.warned.nodes", nodes=nodes, count=len(self.nodes)) if gone else ""
        work, more = ", ".join(self.pods[:MOST_NAMED]), len(self.pods) - MOST_NAMED
        if more > 0:
            work = texts.say("notice.warned.more-work", work=work, more=more)
        if self.partial:
            return texts.say("notice.warned.nodes-and-work", nodes=nodes, work=work, count=len(self.nodes))
        return texts.say("notice.warned.work", work=work)

    def to_json(self) -> dict[str, object]:
        """The answer of the cluster function."""
        return {"nodes": list(self.nodes), "pods": list(self.pods), "staying": self.staying}

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> "AtStake":
        """Reads what to_json wrote; empty if the cluster function could not say."""
        return cls(_texts(found.get("nodes")), _texts(found.get("pods")), int(str(found.get("staying") or 0)))


def _texts(found: object) -> tuple[str, ...]:
    return tuple(map(str, found)) if isinstance(found, Sequence) and not isinstance(found, str) else ()
