"""One run of an experiment: its person, pool, lease and end, the state before it, its phase and its observation.

The ledger has it as this document before the first change.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from lamplighter.domain.commands.command import Command
from lamplighter.domain.experiments.catalogue import CATALOGUE, Experiment
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import Said, reason

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
    phase: ExperimentPhase
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


def restoring(command: Command, run: ExperimentRun) -> Command:
    """The command to restore, with the pool and the lease of the run that it means."""
    return replace(command, experiment=run.id, pool=run.pool, lease=run.lease)
