"""A pool as the ledger keeps it: its generation, its phase and what people decided about it.

target.py decides how many nodes it should have at an instant. The adapters read how many really run.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lamplighter.domain.money.node_time import NodeTime
from lamplighter.reasons.reason import Said


class Phase(StrEnum):
    """The state of a pool. A leaked pool should be at zero and is not."""

    CLOSED = "closed"
    OPENING = "opening"
    OPEN = "open"
    CLOSING = "closing"
    LEAKED = "leaked"


@dataclass(frozen=True, slots=True)
class SeenGpus:
    """The GPUs of a pool in a sweep of the guard: how many pods held, and how many there were."""

    in_use: int
    of: int
    at: datetime


@dataclass(frozen=True, slots=True)
class PoolState:
    """The ledger's item of one pool. A new pool is closed at generation 0."""

    name: str
    generation: int = 0
    """Grows with every change of the pool's target. A command for an older generation is stale."""
    phase: Phase = Phase.CLOSED
    fence: int = 0
    """The fencing number of the last writer. A write with an older number is refused."""
    holder: str | None = None
    held_until: datetime | None = None
    failsafe_at: datetime | None = None
    """When the armed failsafe first fires; None when none is armed."""
    mode: str | None = None
    """`enforce` after a person armed a pool that began in watch; None: the lab's mode counts."""
    leaked_since: datetime | None = None
    leaked_because: Said | None = None
    acked_until: datetime | None = None
    """Until then nobody is paged about the leak: a person has acknowledged it."""
    over_since: datetime | None = None
    """Since when nodes run although the pool should be at zero."""
    idle_since: datetime | None = None
    """Since when no GPU of it has been in use."""
    looked_at: datetime | None = None
    """When the guard last checked that."""
    seen_gpus: SeenGpus | None = None
    """For people to read; no decision uses it."""
    metered_until: datetime | None = None
    """Up to then, node time past or without a lease is counted as spent."""
    metering_until: datetime | None = None
    """The end of a count that is written in parts, until its last part is written."""
    metering_after: str = ""
    """The last lease whose part of that count is written."""
    unbilled: NodeTime | None = None
    """The part of that node time that is on no receipt yet."""


@dataclass(frozen=True, slots=True)
class DeployMark:
    """The mark of a deploy that is about to write the pool's capacity with the size that it read."""

    until: datetime
    """From then on the mark has no effect, so a failed deploy blocks nobody for longer."""
    empty: bool = False
    """Whether the pool had no lease when the mark was set: then no lease gets a node while the mark stands."""

    def stands(self, at: datetime) -> bool:
        """Whether nobody may raise the pool's size at this instant."""
        return at < self.until


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write to one pool until an instant."""

    pool: str
    holder: str
    number: int
    until: datetime
