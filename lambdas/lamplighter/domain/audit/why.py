"""Why a pool is, or was, as it is: the answer out of the audit trail and the leases, in words.

Decides nothing; it reads what was decided at the time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.notices import findings as findings_told
from lamplighter.domain.pool.explanation import UnmetWindow, standing
from lamplighter.domain.pool.target import Target
from lamplighter.reasons.reason import draw
from lamplighter.values import instant

_OF_LEASES = ("lease-granted", "extended", "closing", "closed", "refused")
DECIDES = frozenset({*_OF_LEASES, "breach", "leaked", "degraded", "held-up", "replaced", "scaled"})
"""The kinds that change what a pool has, or say why it was not changed."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a pool should have had at an instant, the decision behind it, and what led there."""

    at: datetime
    target: Target
    decision: Entry | None
    trail: tuple[Entry, ...]
    unmet: tuple[UnmetWindow, ...] = ()
    """Windows that the calendar had open then, without a lease in force."""
    findings: tuple[Entry, ...] = ()
    """Causes that the last diagnosis before then named for what was late or failed, and that stood then."""

    @property
    def nodes(self) -> int:
        """How many nodes it should have had."""
        return self.target.nodes

    def told_by(self, clock: Callable[[datetime], str]) -> "Explanation":
        """The same with what was kept in sentences told by this clock."""
        trail = tuple(_told(entry, clock) for entry in self.trail)
        last = bool(self.trail) and self.decision is self.trail[-1]
        decision = trail[-1] if last else self.decision and _told(self.decision, clock)
        return replace(self, decision=decision, trail=trail)

    def decided_by(self, clock: Callable[[datetime], str]) -> str:
        """The last decision as a sentence; empty where it is the trail's last row, which says the same."""
        if self.decision is None or self.decision is self.trail[-1]:
            return ""
        made = self.decision
        return f"Last decided at {clock(made.at)}: {made.who} {made.what}, because {made.why}."

    def to_json(self, clock: Callable[[datetime], str] = instant.clock_time) -> dict[str, object]:
        """The document of `why --json`; its sentences name instants by this clock."""
        return {
            "at": instant.written(self.at),
            "nodes": self.nodes,
            "reason": self.target.reason_by(clock),
            "decision": None if self.decision is None else _document(self.decision),
            "trail": [_document(entry) for entry in self.trail],
            "without_lease": [unmet.to_json(clock) for unmet in self.unmet],
            "findings": [
                {
                    "at": instant.written(entry.at),
                    "cause": entry.details.get("cause"),
                    "summary": draw(findings_told.summary_of(entry), ENGLISH, clock),
                    "advice": draw(findings_told.advice_of(entry), ENGLISH, clock),
                }
                for entry in self.findings
            ],
        }


def explain(
    leases: Sequence[Lease],
    entries: Iterable[Entry],
    at: datetime,
    max_nodes: int,
    *,
    steps: int = 10,
    windows: Sequence[PlannedWindow] = (),
    skips: Sequence[Skip] = (),
) -> Explanation:
    """The explanation for an instant, past or present; `entries` may reach beyond it.

    What came after it tells what was not known then. `windows` are those of the pool that the calendar,
    as it is now, has open there.
    """
    entries = sorted(entries, key=lambda entry: entry.at)
    before = [entry for entry in entries if entry.at <= at]
    after = [entry for entry in entries if entry.at > at]
    then = [_as_of(lease, at, after) for lease in leases]
    target, unmet = standing(windows, then, at, max_nodes, skips)
    decisions = [entry for entry in before if entry.kind in DECIDES]
    return Explanation(
        at,
        target,
        decisions[-1] if decisions else None,
        tuple(before[-steps:]),
        unmet,
        findings_told.standing(before, target.leases),
    )


def _as_of(lease: Lease, at: datetime, after: Iterable[Entry]) -> Lease:
    """The lease as it stood then: what was ended, or moved to another end, later was not yet.

    `after` is what happened since, in order; the first that moved the end says where it was before.
    """
    moved = (entry.details["from"] for entry in after if entry.lease == lease.id and "from" in entry.details)
    closes = next(moved, None)
    if closes is not None:
        lease = replace(lease, closes=instant.read(closes))
    if lease.state in {LeaseState.CLOSING, LeaseState.CLOSED} and lease.opens <= at < lease.closes:
        return lease.moved_to(LeaseState.OPEN)
    return lease


def _told(entry: Entry, clock: Callable[[datetime], str]) -> Entry:
    return replace(entry, what=draw(entry.what, ENGLISH, clock), why=draw(entry.why, ENGLISH, clock))


def _document(entry: Entry) -> dict[str, object]:
    return {
        "at": instant.written(entry.at),
        "kind": entry.kind,
        "who": entry.who,
        "what": str(entry.what),
        "why": str(entry.why),
        "lease": entry.lease,
        "nodes": entry.nodes,
    }
