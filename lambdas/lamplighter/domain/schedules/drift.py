"""Whether the lab's schedules are what its leases ask for, judged by names and by when they were written last.

One listing of the group tells the guard's sweep whether the planner must put something right; what each
schedule says is read by the planner alone.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.leases.lease import OVER, Lease, LeaseState
from lamplighter.domain.schedules.of_leases import MISSED_AFTER, opens_at, unopened, wanted_schedules
from lamplighter.domain.schedules.schedule import WorkflowArns, names_of

KEPT = ("failsafe-", "curfew-", "experiment-")
"""Other schedules of the group: the guard's, the template's, and what undoes an experiment."""
ABOUT_TO_FIRE = timedelta(minutes=3)
"""What fires this soon is started directly, or is gone by the time that anybody looks."""
SETTLING = timedelta(minutes=5)
"""So long a lease that was just granted, opened or closed may still be without its schedules, or with them."""


class Listed(NamedTuple):
    """A schedule as a listing of the group shows it."""

    name: str
    enabled: bool
    written: datetime | None
    """When it was made or changed last, where Scheduler says so."""


class Drift(NamedTuple):
    """What is wrong with the schedules of a lab."""

    missing: tuple[str, ...]
    strange: tuple[str, ...]
    disabled: tuple[str, ...]
    touched: tuple[str, ...]
    """Written since the planner last looked: by one of ours, or by somebody else."""
    overdue: tuple[str, ...] = ()
    """Leases that should have begun to open by now: nobody has come to them, or their run waits for something."""

    @property
    def reason(self) -> str:
        """What somebody did, in words; empty where only ours may have written."""
        parts = [
            (self.missing, "is missing", "are missing"),
            (self.strange, "belongs to no lease", "belong to no lease"),
            (self.disabled, "is switched off", "are switched off"),
        ]
        return "; ".join(
            f"{' and '.join(names)} {one if len(names) == 1 else several}"
            for names, one, several in parts
            if names
        )

    @property
    def any(self) -> bool:
        """Whether the planner must look."""
        return any(self)


def kept(name: str) -> bool:
    """Whether a schedule of the group is none of the leases'."""
    return name.startswith(KEPT)


def drift(
    listed: Iterable[Listed],
    leases: Sequence[Lease],
    workflow_arns: WorkflowArns,
    pauses: Sequence[Pause],
    *,
    planned_at: datetime | None,
    now: datetime,
) -> Drift:
    """Compare a listing with the leases of every pool; `planned_at` is when the planner last looked."""
    there = [one for one in listed if not kept(one.name)]
    names = {one.name for one in there}
    wanted = {
        schedule.name
        for lease in leases
        if not _settling(lease, now)
        for schedule in wanted_schedules(lease, workflow_arns, now, pauses)
        if schedule.at > now + ABOUT_TO_FIRE
    }
    owned = {name for lease in leases if not _gone(lease, now) for name in names_of(lease.id, workflow_arns)}
    return Drift(
        missing=tuple(sorted(wanted - names)),
        strange=tuple(sorted(names - owned)),
        disabled=tuple(sorted(one.name for one in there if not one.enabled)),
        touched=tuple(
            sorted(
                one.name
                for one in there
                if planned_at is not None and one.written is not None and one.written > planned_at
            )
        ),
        overdue=tuple(lease.id for lease in leases if _overdue(lease, pauses, now)),
    )


def _overdue(lease: Lease, pauses: Sequence[Pause], now: datetime) -> bool:
    if not unopened(lease) or lease.closes <= now:
        return False
    opens = opens_at(lease, pauses, now)
    return opens is not None and opens + MISSED_AFTER < now


def _settling(lease: Lease, now: datetime) -> bool:
    """A lease that begins at this moment gets its schedules within seconds."""
    return lease.state is LeaseState.ADMITTED and lease.opens <= now < lease.opens + SETTLING


def _gone(lease: Lease, now: datetime) -> bool:
    """A lease that is over for so long that nothing of it may be left."""
    ended = lease.closed or lease.closes
    return lease.state in OVER and ended + SETTLING <= now
