"""An audit entry: who did what to a pool, when and why, in words and in the contract's kinds.

Entries are only ever added; reading them back into an explanation is why.py's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

KINDS = (
    "window-opens",
    "lease-granted",
    "failsafe-armed",
    "scaled",
    "node-ready",
    "settings-applied",
    "gpus-ready",
    "verdict",
    "announced",
    "warned",
    "extended",
    "breach",
    "closed",
    "drained",
    "zero-proven",
    "receipt",
    "planned",
    "refused",
    "closing",
    "leaked",
    "failsafe-disarmed",
    "degraded",
    "unplanned",
)
"""The first row are the kinds of `local demo`'s timeline; the rest is ours. More may come."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened to a pool."""

    at: datetime
    pool: str
    kind: str
    who: str
    """The person, window or part of ours that did it: `alice`, `window evening`, `guard`."""
    what: str
    why: str
    lease: str | None = None
    nodes: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)
