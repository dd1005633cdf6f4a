"""Whether every day has the time of the curfew, and whether a window runs across it.

domain/leases/curfew.py knows what the curfew does and how long it keeps a pool free.
"""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import cache

from lamplighter.domain.leases.curfew import KEPT_FREE, MINUTES_A_DAY, SECOND_RAIL, instants
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.types import write_time
from lamplighter.lab.windows import Window
from lamplighter.labfile.rules.parts import Misfit
from lamplighter.values import zones

# Zone rules are checked so far ahead: nobody plans a lab or changes clocks further ahead.
FIRST, LAST = date(2026, 1, 1), date(2040, 12, 31)
_FREE = KEPT_FREE // timedelta(minutes=1)
_RAILS = (0, SECOND_RAIL // timedelta(minutes=1))


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in the curfews, and the windows that run across one."""
    if lab.time_zone not in zones.names():
        return
    if lab.guard.curfew is not None:
        yield from _skipped(lab, lab.guard.curfew, ("guard", "curfew"))
    for name, pool in lab.pools.items():
        if pool.curfew is not None:
            yield from _skipped(lab, pool.curfew, ("pools", name, "curfew"))
    for index, window in enumerate(lab.windows):
        yield from _crossed(lab, window, ("windows", index))


def _skipped(lab: Lab, minute: int, path: Path) -> Iterator[Misfit]:
    """A time that clocks jump over in spring: AWS's schedules do not fire on that day."""
    for rail in _RAILS:
        day = _without(lab.time_zone, (minute + rail) % MINUTES_A_DAY)
        if day is not None:
            text = (
                f"is {write_time(minute)}, and on {day} clocks in {lab.time_zone} jump over "
                f"{write_time((minute + rail) % MINUTES_A_DAY)}, so the schedules would not fire that night; "
                "write a time that every day has, an hour earlier or later"
            )
            yield Misfit(path, text, (("time_zone",),))
            return


@cache
def _without(zone: str, minute: int) -> date | None:
    """The first date that does not have this time of the day."""
    where, day = zones.zone(zone), FIRST
    steady = zones.steady_days(zone)
    while day <= LAST:
        if steady.offset(day.toordinal()) is None and not instants(day, minute, where):
            return day
        day += timedelta(days=1)
    return None


def _crossed(lab: Lab, window: Window, path: Path) -> Iterator[Misfit]:
    pool = window.pool or next(iter(lab.pools))
    if (
        pool not in lab.pools
        or lab.zone_of(window) not in zones.names()
        or not window.timed
        or window.start == window.end
    ):
        return
    curfew = lab.curfew(pool)
    if curfew is None:
        return
    length = window.length // timedelta(minutes=1)
    if not any(_meets(window.begins + ahead, length, curfew) for ahead in _aheads(lab, window)):
        return
    key: Path = ("pools", pool, "curfew") if lab.pools[pool].curfew is not None else ("guard", "curfew")
    text = (
        f"makes the window run across the curfew at {write_time(curfew)} {lab.time_zone}; end it by then, "
        f"or start it at {write_time((curfew + _FREE) % MINUTES_A_DAY)} or later"
    )
    yield Misfit((*path, "end"), text, ((*path, "start"), (*path, "pool"), key, ("time_zone",)))


def _meets(start: int, length: int, curfew: int) -> bool:
    """Whether [start, start + length) meets the curfew of any day; all in minutes by the lab's clock."""
    return (curfew - start) % MINUTES_A_DAY < length or (start - curfew) % MINUTES_A_DAY < _FREE


def _aheads(lab: Lab, window: Window) -> Iterable[int]:
    """By how many minutes the lab's clock may be ahead of the window's, on the days it may start."""
    zone = lab.zone_of(window)
    if zone == lab.time_zone:
        return {0}
    if window.dates is not None:
        return {ahead for day in window.start_dates for ahead in _ahead(zone, lab.time_zone, day, day)}
    return _ahead(zone, lab.time_zone, window.from_ or FIRST, window.until or LAST)


@cache
def _ahead(zone: str, of: str, first: date, last: date) -> frozenset[int]:
    window, lab = zones.zone(zone), zones.zone(of)
    days = range(first.toordinal() - 1, min(last, LAST).toordinal() + 2)
    noons = ((day - zones.EPOCH_ORDINAL) * zones.DAY + zones.DAY // 2 for day in days)
    return frozenset((zones.offset_at(lab, noon) - zones.offset_at(window, noon)) // 60 for noon in noons)
