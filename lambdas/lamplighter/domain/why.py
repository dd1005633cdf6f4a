"""Why a pool is, or was, as it is: the answer out of the audit trail and the leases, in words.

Decides nothing; it reads what was decided at the time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain import instant
from lamplighter.domain.audit import Entry
from lamplighter.domain.calendar import PlannedWindow
from lamplighter.domain.lease import Lease, LeaseState
from lamplighter.domain.standing import Unmet, standing

DECIDES = frozenset(
    {"lease-granted", "extended", "closing", "closed", "refused", "breach", "leaked", "degraded", "scaled"}
)
"""The kinds that change what a pool has, or say why it was not changed."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a pool should have had at an instant, the decision behind it, and what led there."""

    at: datetime
    nodes: int
    reason: str
    decision: Entry | None
    trail: tuple[Entry, ...]
    unmet: tuple[Unmet, ...] = ()
    """Windows that the calendar had open then, without a lease in force."""

    def to_json(self) -> dict[str, object]:
        """The document of `why --json`."""
        return {
            "at": instant.written(self.at),
            "nodes": self.nodes,
            "reason": self.reason,
            "decision": None if self.decision is None else _document(self.decision),
            "trail": [_document(entry) for entry in self.trail],
            "without_lease": [unmet.to_json() for unmet in self.unmet],
        }


def explain(
    leases: Sequence[Lease],
    entries: Iterable[Entry],
    at: datetime,
    max_nodes: int,
    *,
    steps: int = 10,
    windows: Sequence[PlannedWindow] = (),
) -> Explanation:
    """The explanation for an instant, past or present; `entries` may reach beyond it.

    `windows` are those of the pool that the calendar, as it is now, has open there.
    """
    before = sorted((entry for entry in entries if entry.at <= at), key=lambda entry: entry.at)
    target, unmet = standing(windows, [_as_of(lease, at) for lease in leases], at, max_nodes)
    decisions = [entry for entry in before if entry.kind in DECIDES]
    decision = decisions[-1] if decisions else None
    reason = target.reason
    if decision is not None:
        who = f"{decision.who} {decision.what}"
        reason = f"{reason}; last, at {instant.clock_time(decision.at)}, {who}, because {decision.why}"
    return Explanation(at, target.nodes, reason, decision, tuple(before[-steps:]), unmet)


def _as_of(lease: Lease, at: datetime) -> Lease:
    """The lease as it stood then: what ended later was in force, what ended before was not."""
    if lease.state in {LeaseState.CLOSING, LeaseState.CLOSED} and lease.opens <= at < lease.closes:
        return lease.moved_to(LeaseState.OPEN)
    return lease


def _document(entry: Entry) -> dict[str, object]:
    return {
        "at": instant.written(entry.at),
        "kind": entry.kind,
        "who": entry.who,
        "what": entry.what,
        "why": entry.why,
        "lease": entry.lease,
        "nodes": entry.nodes,
    }
