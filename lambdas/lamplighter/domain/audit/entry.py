"""An audit entry: who did what to a pool, when and why. Its kinds are those of the contract.

Entries are only added. why.py makes an explanation of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lamplighter.reasons.reason import Said

TIMELINE = (
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
)
"""The kinds that the timeline of `local demo` shows. Other kinds, such as planned and refused, only explain."""

CAPACITY = "nodegroups"
"""Who orders nodes. The word stands in the ledgers of all releases."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened to a pool."""

    at: datetime
    pool: str
    kind: str
    who: str
    """The person, window or part of Lamplighter that did it: `alice`, `window evening`, `guard`."""
    what: Said
    why: Said
    lease: str | None = None
    nodes: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)
