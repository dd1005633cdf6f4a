"""Whether the lab's schedules are those that its leases need, judged by names and by when each was last written.

One listing of the schedule group tells the guard's sweep whether the planner must correct something. Only the planner
reads what each schedule sends.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.leases.lease import OVER, Lease, LeaseState
from lamplighter.domain.schedules.of_leases import MISSED_AFTER, opens_at, schedule_instants, unopened
from lamplighter.domain.schedules.schedule import LOOK, WorkflowArns, names_of
from lamplighter.reasons.reason import Reason, Said, Sentences, reason

KEPT = ("failsafe-", "curfew-", "experiment-")
"""Prefixes of other schedules in the group: the failsafe's, the curfew's, and those that undo an experiment."""
ABOUT_TO_FIRE = timedelta(minutes=3)
"""The lab starts directly what is due this soon, and such a schedule may be gone at the next listing."""
SETTLING = timedelta(minutes=5)
"""For so long a lease that was just granted, opened or closed may lack its schedules, or still have them."""


class Listed(NamedTuple):
    """A schedule as a listing of the group shows it."""

    name: str
    enabled: bool
    written: datetime | None
    """When it was created or last changed, where Scheduler says so."""


class Drift(NamedTuple):
    """What differs between the schedules of a lab and those that its leases need."""

    missing: tuple[str, ...]
    strange: tuple[str, ...]
    disabled: tuple[str, ...]
    touched: tuple[str, ...]
    """Written since the planner last ran: by the lab, or by somebody else."""
    overdue: tuple[str, ...] = ()
    """Leases that should have begun to open by now: no run has begun, or it waits for something."""

    @property
    def reason(self) -> Said | None:
        """What somebody changed; None where only the lab itself may have written."""
        changes: list[Reason] = []
        if self.missing:
            changes.append(reason("guard.schedules.missing", names=self.missing))
        if self.strange:
            changes.append(reason("guard.schedules.strange", names=self.strange))
        if self.disabled:
            changes.append(reason("guard.schedules.disabled", names=self.disabled))
        if len(changes) > 1:
            return Sentences(tuple(changes))
        return changes[0] if changes else None

    @property
    def any(self) -> bool:
        """Whether the planner must run."""
        return any(self)


def kept(name: str, workflow_arns: WorkflowArns) -> bool:
    """Whether a schedule of the group belongs to something other than a lease.

    A lab that no longer checks its windows again has no right to delete what is left of that.
    """
    return name.startswith(KEPT) or (not workflow_arns.looks and name.startswith(LOOK))


def drift(
    listed: Iterable[Listed],
    leases: Sequence[Lease],
    workflow_arns: WorkflowArns,
    pauses: Sequence[Pause],
    *,
    planned_at: datetime | None,
    now: datetime,
) -> Drift:
    """Compare a listing with the leases of every pool; `planned_at` is when the planner last ran."""
    of_leases = [schedule for schedule in listed if not kept(schedule.name, workflow_arns)]
    names = {schedule.name for schedule in of_leases}
    wanted = {
        name
        for lease in leases
        if not _settling(lease, now)
        for name, at in schedule_instants(lease, workflow_arns, now, pauses).items()
        if at > now + ABOUT_TO_FIRE
    }
    owned = {name for lease in leases if not _gone(lease, now) for name in names_of(lease.id, workflow_arns)}
    return Drift(
        missing=tuple(sorted(wanted - names)),
        strange=tuple(sorted(names - owned)),
        disabled=tuple(sorted(schedule.name for schedule in of_leases if not schedule.enabled)),
        touched=tuple(
            sorted(
                schedule.name
                for schedule in of_leases
                if planned_at is not None and schedule.written is not None and schedule.written > planned_at
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
    """Whether a lease begins at this moment: it gets its schedules within seconds."""
    return lease.state is LeaseState.ADMITTED and lease.opens <= now < lease.opens + SETTLING


def _gone(lease: Lease, now: datetime) -> bool:
    """Whether a lease has been over for so long that none of its schedules may be left."""
    ended = lease.closed or lease.closes
    return lease.state in OVER and ended + SETTLING <= now
