"""Whether one date of a window is taken out of the calendar, or put back: the rules, top to bottom.

Owns which date is meant where none is named, and what cannot be skipped any more; keeping the skip is the
ledger's. What runs is never skipped: it is closed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypeAlias

from lamplighter.domain.calendar.changes import Clock, Skip, said, said_because
from lamplighter.domain.calendar.course import Course
from lamplighter.domain.calendar.occurrences import expand
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.lab.model import Lab

AHEAD = timedelta(days=400)
"""How far the next opening is looked for: beyond any course that opens once a year."""

Courses: TypeAlias = Mapping[str, Course] | None
"""The course calendars that windows follow, by window."""


@dataclass(frozen=True, slots=True)
class Skipping:
    """What a skip or unskip comes to: skipped, unskipped, unchanged or refused; and the opening it is about."""

    outcome: str
    reason: str
    opening: PlannedWindow | None = None
    skip: Skip | None = None


def skip(
    command: Command,
    lab: Lab,
    skips: Iterable[Skip],
    leases: Sequence[Lease],
    *,
    now: datetime,
    clock: Clock,
    courses: Courses = None,
) -> Skipping:
    """Take a date of a window out of the calendar: the one named, or the next."""
    found = _openings(command, lab, now, courses)
    if isinstance(found, Skipping):
        return found
    skipped = {one.date: one for one in skips if one.window == command.window}
    if command.date in skipped:
        return Skipping("unchanged", skipped[command.date].reason())
    opening = _meant(command, found, skipped, now)
    if isinstance(opening, Skipping):
        return opening
    lease = next((one for one in leases if one.id == opening.lease), None)
    too_late = _too_late(opening, lease, clock)
    if too_late:
        return too_late
    made = Skip(opening.window, opening.date.isoformat(), command.by, now, command.because)
    return Skipping(
        "skipped",
        f"{opening.window} does not open at {clock(opening.opens)}: "
        f"{command.by} skipped it{said_because(command.because)}",
        opening,
        made,
    )


def unskip(
    command: Command,
    lab: Lab,
    skips: Iterable[Skip],
    *,
    now: datetime,
    clock: Clock,
    courses: Courses = None,
) -> Skipping:
    """Put a date back: the one named, or the next that was skipped."""
    found = _openings(command, lab, now, courses)
    if isinstance(found, Skipping):
        return found
    skipped = {one.date: one for one in skips if one.window == command.window}
    ahead = [opening for opening in found if opening.date.isoformat() in skipped]
    named = [opening for opening in ahead if command.date in {None, opening.date.isoformat()}]
    if not named:
        if command.date in skipped:
            return Skipping(
                "refused", f"{command.window} on {command.date} has passed, or is in no calendar now"
            )
        on = f" on {command.date}" if command.date else ""
        return Skipping("unchanged", f"{command.window} is not skipped{on}")
    opening = named[0]
    late = "now, late" if opening.opens <= now else f"at {clock(opening.opens)}"
    return Skipping(
        "unskipped",
        f"{opening.window} opens {late} after all: {command.by} took its skip back{said_because(command.because)}",
        opening,
        skipped[opening.date.isoformat()],
    )


def _openings(command: Command, lab: Lab, now: datetime, courses: Courses) -> list[PlannedWindow] | Skipping:
    """What is ahead of the window, or running, by opening."""
    if command.date is not None and not _is_date(command.date):
        return Skipping("refused", f"'{command.date[:80]}' is no date; write it like 2026-12-01")
    names = [window.name for window in lab.windows]
    if command.window not in names:
        there = f"it has {', '.join(names)}" if names else "it has none"
        return Skipping("refused", f"the lab has no window '{str(command.window)[:80]}'; {there}")
    alone = lab.model_copy(update={"windows": [one for one in lab.windows if one.name == command.window]})
    ahead = [one for one in expand(alone, now, now + AHEAD, courses).windows if one.closes > now]
    return sorted(ahead, key=lambda opening: opening.opening)


def _meant(
    command: Command, openings: Sequence[PlannedWindow], skipped: Iterable[str], now: datetime
) -> PlannedWindow | Skipping:
    if command.date is not None:
        named = [opening for opening in openings if opening.date.isoformat() == command.date]
        if named:
            return named[0]
        following = next((one.date for one in openings if one.opens > now), None)
        then = f"; it opens next on {following}" if following else ""
        return Skipping("refused", f"{command.window} has no opening ahead on {command.date}{then}")
    ahead = [one for one in openings if one.opens > now and one.date.isoformat() not in set(skipped)]
    if not ahead:
        return Skipping("refused", f"{command.window} has no opening ahead that could be skipped")
    return ahead[0]


def _too_late(opening: PlannedWindow, lease: Lease | None, clock: Clock) -> Skipping | None:
    """What was decided about the opening already."""
    if lease is None or lease.state is LeaseState.PLANNED:
        return None
    called = f"{opening.window} on {opening.date}"
    if lease.granted:
        return Skipping(
            "refused",
            f"{called} is open until {clock(lease.closes)}; what runs is not skipped, close it: "
            f"lamplighter close {lease.id}",
        )
    if lease.state is LeaseState.REFUSED:
        return Skipping("unchanged", f"{called} does not open anyway{said(lease.because)}")
    return Skipping("refused", f"{called} is {lease.state.value}; there is nothing left to skip")


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
