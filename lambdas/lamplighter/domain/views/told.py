"""What the audit trail and the checks say about one lease, as rows and reasons to show.

Reads what the ledger keeps, and decides nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from lamplighter.domain.audit import findings as findings_told
from lamplighter.domain.audit import trail
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import Said, in_english
from lamplighter.values.instant import written

OPENED = frozenset({"open", "degraded", "failed"})
"""The notices that say what came of an opening."""
GIVEN_UP_BY = "OpenLab"
"""Who closes a lease that OpenLab gave up."""


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """The verdict of one check on one node."""

    check: str = ""
    node: str = ""
    verdict: str = ""
    """passed, failed or not-proven."""
    reason: Said = ""
    measurements: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FindingView:
    """A cause that a diagnosis named, as it is shown."""

    at: datetime
    pool: str
    lease: str | None
    cause: str
    summary: Said
    advice: Said
    layer: str = ""

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From an entry of the trail."""
        details = entry.details
        return cls(
            entry.at,
            entry.pool,
            entry.lease,
            details.get("cause", "unknown"),
            findings_told.summary_of(entry),
            findings_told.advice_of(entry),
            details.get("layer", ""),
        )

    def to_json(self) -> dict[str, object]:
        """A row of `findings`."""
        return {
            "at": written(self.at),
            "cause": self.cause,
            "layer": self.layer,
            "summary": in_english(self.summary),
            "advice": in_english(self.advice),
        }


def findings(mine: Sequence[Entry], lease: Lease, now: datetime) -> tuple[FindingView, ...]:
    """Of a lease in force what still stands; of one that is over each cause once."""
    if lease.in_force(now):
        return tuple(FindingView.read(entry) for entry in findings_told.standing(mine, [lease.id]))
    once: dict[tuple[str, Said], FindingView] = {}
    for entry in mine:
        if entry.kind == findings_told.KIND:
            found = FindingView.read(entry)
            once.setdefault((found.cause, found.summary), found)
    return tuple(once.values())


def degraded_because(mine: Sequence[Entry]) -> Said | None:
    """What the last notice of the opening said was wrong; None where it said that all is well, or nothing yet."""
    last = next((entry for entry in reversed(mine) if entry.details.get("notice") in OPENED), None)
    return last.why if last is not None and last.details["notice"] != "open" else None


def short_because(mine: Sequence[Entry]) -> Said | None:
    """Why nodes are missing, as it was found last."""
    last = trail.shortage_of(mine)
    return None if last is None else trail.why_short(last)


def failed_because(mine: Sequence[Entry]) -> Said | None:
    """Why the opening was given up; None where it was not."""
    last = next((entry for entry in reversed(mine) if entry.kind == "closing"), None)
    return last.why if last is not None and last.who == GIVEN_UP_BY else None
