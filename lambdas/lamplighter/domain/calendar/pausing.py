"""Whether the lab is paused or resumed, and what that means for each window ahead.

While it is paused nothing opens, whoever asks; what runs closes as usual. A window that is still running
when the pause ends opens late.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.calendar.changes import Clock, Pause, paused_at, said_because
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import Lease, LeaseState

DESTROY_TAKES = timedelta(hours=2)
"""The longest that a last close takes: one that gave no answer by then has failed."""


@dataclass(frozen=True, slots=True)
class Pausing:
    """What a pause or resume comes to: paused, resumed, unchanged or refused."""

    outcome: str
    reason: str
    pause: Pause | None = None
    ended: tuple[Pause, ...] = ()
    """What a resume ends."""


def pause(
    command: Command, pauses: Iterable[Pause], leases: Sequence[Lease], *, now: datetime, clock: Clock
) -> Pausing:
    """Keep every pool from opening, until an instant or until somebody resumes the lab."""
    until = command.closes or (now + command.lasting if command.lasting else None)
    if until is not None and until <= now:
        return Pausing("refused", f"a pause until {clock(until)} would be over: that has passed")
    made = Pause(command.by, now, until.replace(microsecond=0) if until else None, command.because)
    before = _by_people(pauses, now)
    instead = "" if before is None else f", instead of {_until(before, clock)} as {before.by} said"
    parts = [
        f"nothing opens {_until(made, clock)}, by {command.by}{said_because(command.because)}{instead}",
        *_runs_on(leases, now, clock),
        *_kept_closed(leases, made, now, clock),
    ]
    return Pausing("paused", "; ".join(parts), made)


def resume(
    command: Command, pauses: Iterable[Pause], leases: Sequence[Lease], *, now: datetime, clock: Clock
) -> Pausing:
    """End a pause before its time, or what a destroy that failed left closed."""
    there = [pause for pause in pauses if pause.in_force(now)]
    destroy = next((pause for pause in there if pause.closing), None)
    if destroy is not None and not (destroy.failed or now - destroy.at >= DESTROY_TAKES):
        return Pausing("refused", destroy.reason(clock))
    if not there:
        return Pausing("unchanged", "the lab is not paused")
    before = _by_people(there, now)
    paused = f"paused by {before.by} {_until(before, clock)}" if before else "a destroy of the lab failed"
    waiting = [lease for lease in _unopened(leases, now) if lease.opens <= now]
    late = [f"{lease.called()} opens now, late, and ends at {clock(lease.closes)}" for lease in waiting]
    reason = f"pools open again, by {command.by}{said_because(command.because)}; {paused}"
    return Pausing("resumed", "; ".join([reason, *late]), ended=tuple(there))


def _by_people(pauses: Iterable[Pause], now: datetime) -> Pause | None:
    return paused_at([one for one in pauses if not one.closing], now)


def _until(pause: Pause, clock: Clock) -> str:
    return f"until {clock(pause.until)}" if pause.until else "until somebody resumes the lab"


def _runs_on(leases: Iterable[Lease], now: datetime, clock: Clock) -> list[str]:
    running = [lease for lease in leases if lease.in_force(now) and lease.ordered is not None]
    return [f"{lease.called()} runs on until {clock(lease.closes)}" for lease in running]


def _kept_closed(leases: Sequence[Lease], pause: Pause, now: datetime, clock: Clock) -> list[str]:
    """What each window and lease ahead becomes: late, or nothing."""
    found = []
    for lease in _unopened(leases, now):
        opens = max(lease.opens, now)
        if pause.until is not None and pause.until <= opens:
            continue
        if pause.until is not None and pause.until < lease.closes:
            found.append(f"{lease.called()} opens late, at {clock(pause.until)}")
        else:
            found.append(f"{lease.called()} of {clock(lease.opens)} does not open unless the lab is resumed")
    return found


def _unopened(leases: Iterable[Lease], now: datetime) -> list[Lease]:
    """What is to open and has not, by opening."""
    waiting = [
        lease
        for lease in leases
        if lease.closes > now
        and (
            lease.state is LeaseState.PLANNED
            or (lease.state is LeaseState.ADMITTED and lease.ordered is None)
        )
    ]
    return sorted(waiting, key=lambda lease: (lease.opens, lease.order, lease.id))
