"""What Kubernetes says about a NodePool and its claims, as values. capacity/evidence.py has what fits every kind.

A NodePool with `replicas` is static: it has exactly so many nodes. One without is dynamic: pods bring its nodes, up to
its limits. Karpenter allows no change from one to the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lamplighter.domain.capacity.evidence import HealthIssue


@dataclass(frozen=True)
class NodeClass:
    """The reference to a NodePool's node class."""

    group: str
    kind: str
    name: str


@dataclass(frozen=True)
class NodePool:
    """A NodePool. Sizes and limits are numbers of nodes."""

    name: str
    node_class: NodeClass
    replicas: int | None = None
    """None for a dynamic one."""
    limit: int | None = None
    """`limits.nodes`; None where it has none."""
    kept_limit: int | None = None
    """The limit of its owner, while the lab has written another one; 0 where the owner has none."""
    written_limit: int | None = None
    """The limit that the lab wrote last to a dynamic one."""
    requirements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By key: the values that it must be one of."""
    grace: str | None = None
    """`terminationGracePeriod` as it is written there."""
    issues: tuple[HealthIssue, ...] = ()
    """Conditions that keep it from starting nodes."""
    leaving: bool = False
    sized_at: datetime | None = None
    """When the lab last wrote to it."""

    @property
    def static(self) -> bool:
        return self.replicas is not None


@dataclass(frozen=True)
class ClaimEvent:
    """A warning about a NodeClaim: the claim itself is gone soon after a refused launch or an interruption."""

    claim: str
    at: datetime
    reason: str
    message: str
