"""The failsafe: schedules that bring a pool to zero by AWS alone, without our code.

This file says from when on they run. What they call is the off switch of the pool's capacity: always size zero, so
that they never add a node. The scheduler adapter creates them and reads them back.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from lamplighter.domain.capacity.calls import AFTER_END, MINUTES, TimedCall, instants
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.schedule import NEAREST, Schedule

RETRIED = timedelta(minutes=5)
"""So short that between two schedules there is time in which none may run, and a pool may open."""
FIRES_WITHIN = timedelta(minutes=1)
LISTED_WITHIN = timedelta(minutes=1)
"""So long after it began, Step Functions lists a run for certain [est]: its lists are eventually consistent."""


def failsafe_instant(leases: Iterable[Lease], now: datetime) -> datetime | None:
    """When the first schedule must run: 10 minutes after the last end of the running leases; None without any.

    Every granted lease that has begun is running until it is closed: its nodes may run past its end, and until
    CloseLab has finished.
    """
    ends = [
        lease.closes
        for lease in leases
        if lease.opens <= now and (lease.granted or lease.state is LeaseState.CLOSING)
    ]
    # Scheduler knows whole seconds only.
    return max(ends).replace(microsecond=0) + AFTER_END if ends else None


def bar_instant(first: datetime | None, now: datetime) -> datetime:
    """Until when nodes may start where the failsafe first runs at `first`: the last end, or now without leases."""
    return now if first is None else first - AFTER_END


def failsafe_schedules(pool: str, calls: Sequence[TimedCall]) -> tuple[Schedule, ...]:
    """The four schedules of a pool, from the calls that its off switch gives."""
    return tuple(
        Schedule(name=name, at=call.at, target=call.target, input=call.input, retried=RETRIED)
        for name, call in zip(schedule_names(pool), calls, strict=True)
    )


def may_still_run(at: datetime, now: datetime) -> bool:
    """Whether a schedule is about to run, or Scheduler may still retry it: moving it now would come too late."""
    return at - NEAREST <= now < at + FIRES_WITHIN + RETRIED


def schedule_under_way(pool: str, first: datetime | None, now: datetime) -> tuple[str, datetime] | None:
    """Name and instant of the schedule that may run at this moment, of a failsafe that begins at `first`."""
    if first is None:
        return None
    named = zip(schedule_names(pool), instants(first), strict=True)
    return next(((name, at) for name, at in named if may_still_run(at, now)), None)


def schedule_names(pool: str) -> tuple[str, ...]:
    """The names that the failsafe of a pool has in its schedule group."""
    return tuple(f"failsafe-{pool}-{minutes}" for minutes in MINUTES)
