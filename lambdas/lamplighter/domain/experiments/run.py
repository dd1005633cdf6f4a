"""One run of an experiment: its person, pool, lease and end, the state before it, its phase and its observation.

The ledger has it as this document before the first change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from lamplighter.domain.experiments.catalogue import CATALOGUE, Experiment
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.document import document, read
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import instant

MARGIN = timedelta(minutes=10)
"""How long before the lease's end everything must be restored; the last schedules fire then."""
Document = Mapping[str, object]


class ExperimentPhase(StrEnum):
    """The phase of a run."""

    PREPARED = "prepared"
    """The state before is stored; from now on something may be changed."""
    CHANGED = "changed"
    OBSERVED = "observed"
    RESTORED = "restored"
    """Everything is restored, and that was verified."""
    PROVEN = "proven"
    """The checks were run again; the report is complete."""


UNDONE = frozenset({ExperimentPhase.RESTORED, ExperimentPhase.PROVEN})


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """One run, as the ledger keeps it."""

    id: str
    name: str
    pool: str
    lease: str
    by: str
    begun: datetime
    ends: datetime
    """When the restore is due by the experiment's own length."""
    closes: datetime
    """The end of the lease when the run began."""
    phase: ExperimentPhase = ExperimentPhase.PREPARED
    because: Said | None = None
    before: Document = field(default_factory=dict)
    """The state before: `rules` of EC2, `policy` of the ClusterPolicy."""
    affected: tuple[str, ...] = ()
    """Other leases that the run affects."""
    changed: datetime | None = None
    change: tuple[Said, ...] = ()
    """The changes that were made."""
    seen: Document = field(default_factory=dict)
    """`cause`, `findings`, `verdicts`, `as_expected`, `at`."""
    restored: datetime | None = None
    restored_by: str | None = None
    proof: Document = field(default_factory=dict)
    """`verdict`, `verdicts`, `rules`, `policy`, `at`."""

    @property
    def experiment(self) -> Experiment:
        """The experiment of this run."""
        return CATALOGUE[self.name]

    @property
    def undone(self) -> bool:
        """Whether everything is restored, as far as is known."""
        return self.phase in UNDONE

    def due(self, lease: Lease | None) -> datetime:
        """When the run must be restored, by the present end of its lease, which may have moved."""
        closes = lease.closes if lease is not None else self.closes
        return min(self.ends, closes - MARGIN)

    def overdue(self, lease: Lease | None, now: datetime) -> Said | None:
        """Why the run should be restored by now; None while it may go on."""
        if self.undone:
            return None
        if lease is None or not lease.in_force(now):
            return reason("experiment.lease-over", lease=self.lease)
        due = self.due(lease)
        return reason("experiment.due", due=due) if now >= due else None

    def moved_to(self, phase: ExperimentPhase, **changes: object) -> Self:
        """The same run in another phase."""
        return replace(self, phase=phase, **changes)  # type: ignore[arg-type]

    def to_json(self) -> dict[str, object]:
        """The document that the ledger keeps and `experiment report --json` is made from."""
        return {
            "id": self.id,
            "name": self.name,
            "pool": self.pool,
            "lease": self.lease,
            "by": self.by,
            "begun": instant.written(self.begun),
            "ends": instant.written(self.ends),
            "closes": instant.written(self.closes),
            "phase": self.phase.value,
            "because": None if self.because is None else document(self.because),
            "before": dict(self.before),
            "affected": list(self.affected),
            "changed": _written(self.changed),
            "change": [document(each) for each in self.change],
            "seen": dict(self.seen),
            "restored": _written(self.restored),
            "restored_by": self.restored_by,
            "proof": dict(self.proof),
        }

    @classmethod
    def from_json(cls, found: Document) -> Self:
        """Reads what to_json wrote."""
        return cls(
            id=str(found["id"]),
            name=str(found["name"]),
            pool=str(found["pool"]),
            lease=str(found["lease"]),
            by=str(found["by"]),
            begun=instant.read(str(found["begun"])),
            ends=instant.read(str(found["ends"])),
            closes=instant.read(str(found["closes"])),
            phase=ExperimentPhase(str(found["phase"])),
            because=None if found.get("because") is None else read(found["because"]),
            before=_document(found.get("before")),
            affected=_texts(found.get("affected")),
            changed=_read(found.get("changed")),
            change=tuple(read(each) for each in _listed(found.get("change"))),
            seen=_document(found.get("seen")),
            restored=_read(found.get("restored")),
            restored_by=_text(found.get("restored_by")),
            proof=_document(found.get("proof")),
        )


def _document(found: object) -> Document:
    return found if isinstance(found, Mapping) else {}


def _texts(found: object) -> tuple[str, ...]:
    return tuple(str(each) for each in _listed(found))


def _listed(found: object) -> Sequence[object]:
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


def _text(found: object) -> str | None:
    return None if found is None else str(found)


def _written(at: datetime | None) -> str | None:
    return None if at is None else instant.written(at)


def _read(found: object) -> datetime | None:
    return None if found is None else instant.read(str(found))
