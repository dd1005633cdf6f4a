"""The nodes and pods that end with a lease, for the warning before its end.

shrink.py chooses the nodes, from what the cluster function sees.
"""

from dataclasses import dataclass

from lamplighter.reasons.reason import Said, first_of, reason


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

    def said(self) -> Said:
        """The sentence of the warning; empty if no user's pod is on these nodes."""
        if not self.nodes:
            return ""
        if not self.pods:
            if not self.partial:
                return ""
            return reason("notice.warned.nodes", nodes=first_of(self.nodes), count=len(self.nodes))
        if self.partial:
            return reason(
                "notice.warned.nodes-and-work",
                nodes=first_of(self.nodes),
                work=first_of(self.pods),
                count=len(self.nodes),
            )
        return reason("notice.warned.work", work=first_of(self.pods))
