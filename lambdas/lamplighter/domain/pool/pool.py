"""A pool as the ledger keeps it: its generation, its phase and what people decided about it.

What it should have at an instant is target.py's; what really runs is what the adapters say.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lamplighter.domain.money.node_time import NodeTime
from lamplighter.reasons.reason import Said


class Phase(StrEnum):
    """What is being done with the pool; leaked is one that should be at zero and is not."""

    CLOSED = "closed"
    OPENING = "opening"
    OPEN = "open"
    CLOSING = "closing"
    LEAKED = "leaked"


@dataclass(frozen=True, slots=True)
class SeenGpus:
    """What a sweep saw of a pool's GPUs: how many pods held of how many there were."""

    in_use: int
    of: int
    at: datetime


@dataclass(frozen=True, slots=True)
class PoolState:
    """The ledger's item of one pool; a pool nobody touched yet is closed at generation 0."""

    name: str
    generation: int = 0
    """Moves with every change of what the pool should have; a command given for another one is stale."""
    phase: Phase = Phase.CLOSED
    fence: int = 0
    """Number of the last writer that held the pool; a write with an older one is refused."""
    holder: str | None = None
    held_until: datetime | None = None
    failsafe_at: datetime | None = None
    """The first shot of the armed failsafe; None when none is armed."""
    mode: str | None = None
    """`enforce` once a person armed a pool that began in watch; None: as the lab says."""
    leaked_since: datetime | None = None
    leaked_because: Said | None = None
    acked_until: datetime | None = None
    """Until then nobody is paged about the leak: somebody has seen it."""
    over_since: datetime | None = None
    """Since when the pool should be at zero and is not."""
    idle_since: datetime | None = None
    """Since when no pod was seen to hold a GPU of it."""
    looked_at: datetime | None = None
    """When that was looked at last."""
    seen_gpus: SeenGpus | None = None
    """For people to read: nothing is decided by it."""
    metered_until: datetime | None = None
    """Up to here, what ran past or without a lease has been counted as spent."""
    unbilled: NodeTime | None = None
    """Of that, what stands on no receipt yet."""


@dataclass(frozen=True, slots=True)
class DeployMark:
    """A deploy is about to write the pool's node group, with the size that it read."""

    until: datetime
    """From then on it counts for nothing: a deploy that died holds nobody up for longer."""
    empty: bool = False
    """No lease was on the pool when the mark was set; so none has a node of it while the mark stands."""

    def stands(self, at: datetime) -> bool:
        """Whether nobody may raise the pool's size at that instant."""
        return at < self.until


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write to one pool until an instant."""

    pool: str
    holder: str
    number: int
    until: datetime
