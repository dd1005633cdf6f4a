"""The year ahead in `check`: how often windows open, and which will be refused, with the reason.

As in `simulate`: nothing spent, no lease before, and warm-ups not yet measured.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from cli import printing
from cli.plan import check_gpus, courses
from lamplighter.domain.calendar.occurrences import Code, SkippedWindow
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.planner.simulation import Simulation, simulate
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import in_english
from lamplighter.values import zones
from lamplighter.values.counted import counted, write_duration

if TYPE_CHECKING:
    from lamplighter.domain.calendar.course import Course

YEAR = timedelta(days=365)
SHORT = timedelta(minutes=10)


def lines(lab: Lab, file: str, now: datetime) -> Iterator[str]:
    """The year from today, then a note on each probable mistake in it."""
    if not lab.windows:
        return
    notes = list(_left_out(lab, file))
    follow: Mapping[str, Course] = {}
    try:
        follow = courses.of(lab)
    except OutsideFailed as error:
        notes.append(f"{error}; its events are left out here")
    if any(not pool.max_nodes or _priceless(lab, name) for name, pool in lab.pools.items()):
        notes.append(
            "which windows will be refused is not known: max_nodes or price_per_hour is left to AWS, write both"
        )
    else:
        try:
            told, refused = _year(lab, follow, now)
        except BadInput as error:
            notes.append(f"the year ahead is not known: {error}")
        else:
            yield told
            notes += refused
    yield from (f"note: {note}" for note in notes)


def _year(lab: Lab, follow: "Mapping[str, Course]", now: datetime) -> tuple[str, list[str]]:
    begins = now.replace(minute=0, second=0, microsecond=0)
    played = simulate(lab, begins, begins + YEAR, follow)
    refused = [one for one in played.skipped if one.code is not Code.EXCEPTED]
    openings = len(played.windows) + len(refused)
    zone = zones.zone(lab.time_zone)
    today = begins.astimezone(zone).date()
    told = (
        f"  the year from {today}: {counted(openings, 'opening')}, {len(refused) or 'none'} of them refused"
    )
    named = {one.window for one in played.windows} | {one.window for one in played.skipped}
    silent = [window.name for window in lab.windows if window.name in follow and window.name not in named]
    empty = [f"window {name} opens on no date of this year: its calendar names none" for name in silent]
    doubts = [*_short(played.windows), *_unmatched(lab, follow, played, today)]
    return told, [*empty, *doubts, *_refused(refused, zone), *check_gpus.overlapping(lab, played.windows)]


def _short(windows: Sequence[PlannedWindow]) -> Iterator[str]:
    """A line for each window that is too short for anybody to work in."""
    short = defaultdict[str, list[PlannedWindow]](list)
    for window in windows:
        if window.closing - window.opening < SHORT.total_seconds():
            short[window.window].append(window)
    for name, found in short.items():
        length = write_duration(timedelta(seconds=found[0].closing - found[0].opening))
        yield (
            f"window {name} lasts only {length} on {found[0].date}{_more(len(found) - 1)}: a node needs some minutes"
            " until its GPUs are ready"
        )


def _more(others: int) -> str:
    return f", and is as short on {counted(others, 'more date')}" if others else ""


def _unmatched(lab: Lab, follow: "Mapping[str, Course]", played: Simulation, today: date) -> Iterator[str]:
    """The exceptions of windows with a calendar on which no event of the year begins."""
    matched = {(one.window, one.date) for one in played.skipped if one.code is Code.EXCEPTED}
    for window in lab.windows:
        named = {each for each in window.except_ if isinstance(each, date)}
        for day in sorted(named) if window.name in follow else ():
            if today < day < today + YEAR and (window.name, day) not in matched:
                yield f"the exception {day} of window {window.name} is on no day on which its calendar has an event"


def _refused(refused: list[SkippedWindow], zone: ZoneInfo) -> Iterator[str]:
    """One line for each window, month and kind of refusal, with the first one's reason."""
    grouped = defaultdict[tuple[str, int, str, Code], list[SkippedWindow]](list)
    for one in refused:
        grouped[f"{one.date:%Y-%m}", one.order, one.window, one.code].append(one)
    for (month, _, window, _), found in sorted(grouped.items()):
        days = list(dict.fromkeys(one.date for one in found))
        yield f"window {window} will not open {_on(month, days)}: {printing.drawn(found[0].reason, zone)}"


def _on(month: str, days: list[date]) -> str:
    if len(days) == 1:
        return f"on {days[0]}"
    named = list(_runs([day.day for day in days]))
    return f"in {month} on {' and '.join(filter(None, (', '.join(named[:-1]), named[-1])))}"


def _runs(days: list[int]) -> Iterator[str]:
    """Days of a month, three or more in a row as `10 to 31`."""
    for _, run in groupby(enumerate(sorted(set(days))), key=lambda entry: entry[1] - entry[0]):
        numbers = [number for _, number in run]
        if len(numbers) > 2:  # noqa: PLR2004 -- two days are not longer than their range
            yield f"{numbers[0]} to {numbers[-1]}"
        else:
            yield from map(str, numbers)


def _left_out(lab: Lab, file: str) -> Iterator[str]:
    """The events of calendar files that cannot open a pool."""
    if any(window.calendar and not window.online for window in lab.windows):
        from lamplighter.labfile import courses as lab_courses  # noqa: PLC0415 -- most labs follow no calendar

        for name, fault in lab_courses.faults(lab, Path(file).parent):
            yield f"{name}: {in_english(fault)}"


def _priceless(lab: Lab, pool: str) -> bool:
    try:
        lab.price(pool)
    except BadInput:
        return True
    return False
