"""Whether a command pauses or resumes the lab, and what that means for each window ahead.

While the lab is paused no pool opens; open pools close as usual. A window whose time is not over when the pause ends
opens late.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.calendar.changes import Pause, paused_at, with_reason
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.reasons.reason import Reason, Said, Sentences, reason

DESTROY_TAKES = timedelta(hours=2)
"""The longest time that a last close takes: one without an answer by then has failed."""


@dataclass(frozen=True, slots=True)
class Pausing:
    """The answer to a pause or resume: paused, resumed, unchanged or refused."""

    outcome: str
    reason: Said
    pause: Pause | None = None
    ended: tuple[Pause, ...] = ()
    """The pauses that a resume ends."""


def pause(command: Command, pauses: Iterable[Pause], leases: Sequence[Lease], *, now: datetime) -> Pausing:
    """Keep every pool from opening, until an instant or until somebody resumes the lab."""
    until = command.closes or (now + command.lasting if command.lasting else None)
    if until is not None and until <= now:
        return Pausing("refused", reason("calendar.pause.past", until=until))
    made = Pause(command.by, now, until.replace(microsecond=0) if until else None, command.because)
    before = _by_people(pauses, now)
    sentences: list[Said] = [made.reason()]
    if before is not None:
        sentences.append(reason("calendar.pause.replaces", pause=before.reason()))
    of_leases = [*_running(leases, now), *_kept_closed(leases, made, now)]
    if of_leases:
        sentences.append(Sentences(tuple(of_leases)))
    return Pausing("paused", Sentences(tuple(sentences)), made)


def resume(command: Command, pauses: Iterable[Pause], leases: Sequence[Lease], *, now: datetime) -> Pausing:
    """End a pause before its time, or what a destroy that failed left closed."""
    in_force = [pause for pause in pauses if pause.in_force(now)]
    destroy = next((pause for pause in in_force if pause.closing), None)
    if destroy is not None and not (destroy.failed or now - destroy.at >= DESTROY_TAKES):
        return Pausing("refused", destroy.reason())
    if not in_force:
        return Pausing("unchanged", reason("calendar.resume.not-paused"))
    before = _by_people(in_force, now)
    ended = (
        reason("calendar.resume.ended", pause=before.reason())
        if before
        else reason("calendar.resume.destroy-failed")
    )
    resumed = with_reason(reason("calendar.resumed", by=command.by), command.because)
    late = [
        reason("calendar.resume.late", lease=lease.called(), closes=lease.closes)
        for lease in _unopened(leases, now)
        if lease.opens <= now
    ]
    of_leases = [Sentences(tuple(late))] if late else []
    return Pausing("resumed", Sentences((resumed, ended, *of_leases)), ended=tuple(in_force))


def _by_people(pauses: Iterable[Pause], now: datetime) -> Pause | None:
    return paused_at([pause for pause in pauses if not pause.closing], now)


def _running(leases: Iterable[Lease], now: datetime) -> list[Reason]:
    running = [lease for lease in leases if lease.in_force(now) and lease.ordered is not None]
    return [reason("calendar.pause.runs-on", lease=lease.called(), closes=lease.closes) for lease in running]


def _kept_closed(leases: Sequence[Lease], pause: Pause, now: datetime) -> list[Reason]:
    """What happens to each window and lease ahead: it opens late, or not at all."""
    kept_closed = []
    for lease in _unopened(leases, now):
        opens = max(lease.opens, now)
        if pause.until is not None and pause.until <= opens:
            continue
        if pause.until is not None and pause.until < lease.closes:
            kept_closed.append(reason("calendar.pause.late", lease=lease.called(), opens=pause.until))
        else:
            kept_closed.append(reason("calendar.pause.unless", lease=lease.called(), opens=lease.opens))
    return kept_closed


def _unopened(leases: Iterable[Lease], now: datetime) -> list[Lease]:
    """The leases that have not opened yet, by opening."""
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
