"""Whether a command skips one date of a window, or puts it back: the rules, top to bottom.

Owns which date a command without a date means, and which openings can no longer be skipped. The ledger keeps the skip.
A running lease is closed, never skipped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypeAlias

from lamplighter.domain.calendar.changes import Skip, with_reason
from lamplighter.domain.calendar.course import Course
from lamplighter.domain.calendar.occurrences import expand
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, Said, Value, reason

AHEAD = timedelta(days=400)
"""How far ahead to look for the next opening: more than a year, for courses that open once a year."""

Courses: TypeAlias = Mapping[str, Course] | None
"""The course calendars that windows follow, by window."""


@dataclass(frozen=True, slots=True)
class Skipping:
    """The answer to a skip or unskip: skipped, unskipped, unchanged or refused; and the opening it is about."""

    outcome: str
    reason: Said
    opening: PlannedWindow | None = None
    skip: Skip | None = None


def skip(
    command: Command,
    lab: Lab,
    skips: Iterable[Skip],
    leases: Sequence[Lease],
    *,
    now: datetime,
    courses: Courses = None,
) -> Skipping:
    """Take a date of a window out of the calendar: the one named, or the next."""
    wrong = _wrong(command, lab)
    if wrong is not None:
        return Skipping("refused", wrong)
    skipped = {skip.date: skip for skip in skips if skip.window == command.window}
    if command.date in skipped:
        return Skipping("unchanged", skipped[command.date].reason())
    opening = _meant(command, _openings(command, lab, now, courses), skipped, now)
    if isinstance(opening, Reason):
        return Skipping("refused", opening)
    lease = next((lease for lease in leases if lease.id == opening.lease), None)
    too_late = _too_late(opening, lease)
    if too_late:
        return too_late
    made = Skip(opening.window, opening.date.isoformat(), command.by, now, command.because)
    done = reason("calendar.skip.done", by=command.by, window=opening.window, opens=opening.opens)
    return Skipping("skipped", with_reason(done, command.because), opening, made)


def unskip(
    command: Command, lab: Lab, skips: Iterable[Skip], *, now: datetime, courses: Courses = None
) -> Skipping:
    """Put a date back: the one named, or the next that was skipped."""
    wrong = _wrong(command, lab)
    if wrong is not None:
        return Skipping("refused", wrong)
    window = command.window or ""
    skipped = {skip.date: skip for skip in skips if skip.window == window}
    openings = [
        opening
        for opening in _openings(command, lab, now, courses)
        if opening.date.isoformat() in skipped and command.date in {None, opening.date.isoformat()}
    ]
    if not openings:
        if command.date is None:
            return Skipping("unchanged", reason("calendar.unskip.not-skipped", window=window))
        named = {"window": window, "date": command.date}
        if command.date in skipped:
            return Skipping("refused", reason("calendar.unskip.passed", **named))
        return Skipping("unchanged", reason("calendar.unskip.not-skipped.on", **named))
    opening = openings[0]
    if opening.opens <= now:
        done = reason("calendar.unskip.done.late", by=command.by, window=window)
    else:
        done = reason("calendar.unskip.done", by=command.by, window=window, opens=opening.opens)
    return Skipping(
        "unskipped", with_reason(done, command.because), opening, skipped[opening.date.isoformat()]
    )


def _wrong(command: Command, lab: Lab) -> Reason | None:
    """What is wrong with the date or the window that the command names."""
    if command.date is not None and not _is_date(command.date):
        return reason("calendar.skip.no-date", date=command.date[:80])
    names = tuple(window.name for window in lab.windows)
    if command.window in names:
        return None
    window = str(command.window)[:80]
    if names:
        return reason("calendar.skip.no-window", window=window, windows=names)
    return reason("calendar.skip.no-windows", window=window)


def _openings(command: Command, lab: Lab, now: datetime, courses: Courses) -> list[PlannedWindow]:
    """The window's openings that are running or ahead, by opening."""
    alone = lab.model_copy(
        update={"windows": [window for window in lab.windows if window.name == command.window]}
    )
    openings = expand(alone, now, now + AHEAD, courses).windows
    return sorted(
        (opening for opening in openings if opening.closes > now), key=lambda opening: opening.opening
    )


def _meant(
    command: Command, openings: Sequence[PlannedWindow], skipped: Iterable[str], now: datetime
) -> PlannedWindow | Reason:
    """The opening that the command is about: on its date, or the next; a reason where there is none."""
    window = command.window or ""
    ahead = [opening for opening in openings if opening.opens > now]
    if command.date is not None:
        of_date = [opening for opening in openings if opening.date.isoformat() == command.date]
        if of_date:
            return of_date[0]
        if ahead:
            return reason(
                "calendar.skip.not-on.next", window=window, date=command.date, following=ahead[0].date
            )
        return reason("calendar.skip.not-on", window=window, date=command.date)
    not_skipped = [opening for opening in ahead if opening.date.isoformat() not in set(skipped)]
    return not_skipped[0] if not_skipped else reason("calendar.skip.none-ahead", window=window)


def _too_late(opening: PlannedWindow, lease: Lease | None) -> Skipping | None:
    """What was decided about the opening already."""
    if lease is None or lease.state is LeaseState.PLANNED:
        return None
    if lease.granted:
        return Skipping(
            "refused",
            reason(
                "calendar.skip.open",
                window=opening.window,
                date=opening.date,
                closes=lease.closes,
                lease=lease.id,
            ),
        )
    named: dict[str, Value] = {"window": opening.window, "date": opening.date}
    if lease.state is LeaseState.REFUSED:
        if lease.because:
            return Skipping("unchanged", reason("calendar.skip.refused.because", why=lease.because, **named))
        return Skipping("unchanged", reason("calendar.skip.refused", **named))
    return Skipping("refused", reason("calendar.skip.decided", state=lease.stands(), **named))


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
