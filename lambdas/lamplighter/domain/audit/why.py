"""Why a pool is, or was, as it is: the answer from the audit trail and the leases.

It decides nothing. It reads what was decided at the time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lamplighter.domain.audit import findings as findings_told
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.pool.explanation import UnmetWindow, standing
from lamplighter.domain.pool.target import Target
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values import instant

_OF_LEASES = ("lease-granted", "extended", "closing", "closed", "refused")
DECIDES = frozenset({*_OF_LEASES, "breach", "leaked", "degraded", "held-up", "replaced", "scaled"})
"""The kinds that change what a pool has, or say why it was not changed."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How many nodes a pool should have had at an instant, the decision behind it, and what led to it."""

    at: datetime
    target: Target
    decision: Entry | None
    trail: tuple[Entry, ...]
    unmet: tuple[UnmetWindow, ...] = ()
    """Windows that were open then by the calendar, without a lease in force."""
    findings: tuple[Entry, ...] = ()
    """Causes that the last diagnosis before the instant named, and that still held then."""

    @property
    def nodes(self) -> int:
        """How many nodes it should have had."""
        return self.target.nodes

    @property
    def last_decision(self) -> Reason | None:
        """The last decision; None where it is the last row of the trail, which says the same."""
        decision = self.decision
        if decision is None or decision is self.trail[-1]:
            return None
        return reason(
            "audit.last-decided", at=decision.at, who=decision.who, what=decision.what, why=decision.why
        )


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

    Later entries tell what was not known at the instant. `windows` are the pool's windows that are open then by
    the calendar as it is now.
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
    """The lease as it was then: a later close, or a later move of its end, is undone.

    `after` are the later entries in order. The first that moved the end says where it was before.
    """
    moved = (entry.details["from"] for entry in after if entry.lease == lease.id and "from" in entry.details)
    closes = next(moved, None)
    if closes is not None:
        lease = replace(lease, closes=instant.read(closes))
    if lease.state in {LeaseState.CLOSING, LeaseState.CLOSED} and lease.opens <= at < lease.closes:
        return lease.in_state(LeaseState.OPEN)
    return lease
