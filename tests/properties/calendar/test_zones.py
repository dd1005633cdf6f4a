"""Every canonical zone of tzdata and every change of its clocks in some years, against a reading of zoneinfo.

The years are two in a brief run, and 2024 to 2030 in a long one.

The reading knows no rule: it asks what the clock on the wall shows, minute by minute around each change. Away
from changes it is enough that the product takes no other offset than the zone's own, day by day.
"""

import importlib.resources
from bisect import bisect_left
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.calendar.occurrences import Code, expand
from lamplighter.domain.calendar.timetable import Timetable
from lamplighter.lab.model import Lab
from lamplighter.lab.types import MINUTES_A_DAY, write_time
from lamplighter.values.zones import SteadyDays
from tests.lengths import LONG

YEARS = (2024, 2031) if LONG else (2026, 2028)
FIRST, LAST = (datetime(year, 1, 1, tzinfo=UTC) for year in YEARS)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
#: The calendar samples twice a day; this looks twice as often.
STEP = timedelta(hours=6)
#: Minutes from a change: where windows start and end, where each minute is read, where each hour; and lengths.
AWAY = (-61, -60, -31, -30, -1, 0, 1, 29, 30, 59, 60, 61, 90, 119, 120, 121)
CLOSE, HOURS = range(-120, 120), range(-60 * 60, 84 * 60, 60)
LENGTHS = (1, 30, 60, 61, 90, 180, 1439, 1440)


def canonical() -> list[str]:
    """The zones of tzdata.zi that are no link to another."""
    text = (importlib.resources.files("tzdata") / "zoneinfo" / "tzdata.zi").read_text("utf-8")
    return sorted(line.split()[1] for line in text.splitlines() if line.startswith("Z "))


REGIONS: dict[str, list[str]] = defaultdict(list)
for _name in canonical():
    REGIONS[_name.partition("/")[0] if "/" in _name else "zones without a region"].append(_name)
by_region = pytest.mark.parametrize("region", sorted(REGIONS))


class Change(NamedTuple):
    """A minute at which a zone's clocks change, with its offsets before and after, in minutes."""

    zone: str
    at: datetime
    before: int
    after: int


@cache
def changes(zone: str) -> tuple[Change, ...]:
    """Found by looking at every sixth hour, then minute by minute."""
    where = ZoneInfo(zone)
    found = []
    at, shown = FIRST, offset(FIRST, where)
    while at < LAST:
        later = at + STEP
        if offset(later, where) != shown:
            while offset(at, where) == shown:
                at += MINUTE
            found.append(Change(zone, at, shown, offset(at, where)))
            shown = offset(later, where)
        at = later
    return tuple(found)


def offset(at: datetime, where: ZoneInfo) -> int:
    ahead = at.astimezone(where).utcoffset()
    assert ahead is not None
    assert not ahead % MINUTE
    return ahead // MINUTE


class Wall:
    """What the clock on the wall shows in the days around a change; all in minutes from the change, in UTC.

    Read minute by minute for two hours on either side, and hour by hour for the days around, where nothing changes.
    """

    def __init__(self, read: tuple[int, ...]) -> None:
        offsets = dict(zip((*CLOSE, *HOURS), read, strict=True))
        self._shown: dict[int, list[int]] = defaultdict(list)
        for minute in range(HOURS[0], HOURS[-1]):
            shown = offsets[minute] if minute in CLOSE else offsets[minute - minute % 60]
            self._shown[minute + shown].append(minute)
        outside = [offsets[hour] for hour in HOURS if hour not in CLOSE]
        assert len(set(outside)) == 2, "another change of the clocks is near"
        self._times = sorted(self._shown)
        self._openings: dict[tuple[int, int], tuple[int, int]] = {}

    def read(self, wall: int) -> list[int]:
        """When it shows a time; where it never does, the first minute at which it is past it."""
        if wall in self._shown:
            return self._shown[wall]
        later = self._times[bisect_left(self._times, wall)]
        return self._shown[later][:1]

    def opening(self, start: int, length: int) -> tuple[int, int]:
        """The contract's rules, word by word."""
        if (start, length) not in self._openings:
            opens, closes = self.read(start), self.read(start + length)[0]
            second = len(opens) > 1 and closes - opens[0] > length
            self._openings[start, length] = opens[1] if second else opens[0], closes
        return self._openings[start, length]


WALLS: dict[tuple[int, ...], Wall] = {}


def wall_of(change: Change) -> Wall:
    """The reading of a change; zones that show the same around theirs share it."""
    where = ZoneInfo(change.zone)
    read = tuple(offset(change.at + minute * MINUTE, where) for minute in (*CLOSE, *HOURS))
    if read not in WALLS:
        WALLS[read] = Wall(read)
    return WALLS[read]


def lab_near(change: Change, turn: int) -> Lab:
    """Windows that start or end near the change, by the clock before it and the clock after it."""
    windows = {}
    for number, away in enumerate(AWAY[turn % 2 :: 2]):
        local = change.at + (change.before, change.after)[(number + turn // 2) % 2] * MINUTE
        edge, length = local.hour * 60 + local.minute + away, LENGTHS[(number + turn) % len(LENGTHS)]
        for start in {edge % MINUTES_A_DAY, (edge - length) % MINUTES_A_DAY}:
            end = start + length if start + length <= MINUTES_A_DAY else start + length - MINUTES_A_DAY
            if start != end:
                name = f"w{start}-{length}"
                windows[name] = {"name": name, "start": write_time(start), "end": write_time(end)}
    return Lab.model_validate(
        {
            "name": "x",
            "time_zone": change.zone,
            "guard": {"longest_lease": "24h"},
            "windows": [{**one, "days": "daily"} for one in windows.values()],
        }
    )


@pytest.mark.longer
@by_region
def test_windows_near_every_change_of_the_clocks_are_where_the_wall_says(region: str) -> None:
    for zone in REGIONS[region]:
        for turn, change in enumerate(changes(zone)):
            lab, wall = lab_near(change, turn), wall_of(change)
            here = (change.at + change.before * MINUTE).date()
            found = expand(lab, change.at - 2 * DAY, change.at + 3 * DAY)
            opened = {(one.window, one.date): (one.opens, one.closes) for one in found.windows}
            vanished = {(one.window, one.date) for one in found.skipped if one.code is Code.VANISHES}
            for day in (here - DAY, here, here + DAY):
                midnight = (datetime.combine(day, datetime.min.time(), UTC) - change.at) // MINUTE
                for window in lab.windows:
                    start, length = (int(text) for text in window.name[1:].split("-"))
                    opens, closes = (change.at + at * MINUTE for at in wall.opening(midnight + start, length))
                    if opens < closes:
                        told = opened.get((window.name, day))
                        assert told == (opens, closes), (change, window.name, day)
                    else:
                        assert (window.name, day) in vanished, (change, window.name, day)
            timetable = Timetable(lab)
            for at in (change.at + away * MINUTE for away in (-61, -1, 0, 59)):
                now = {
                    (one.window, one.date) for windows in timetable.open_at(at).values() for one in windows
                }
                running = {key for key, (opens, closes) in opened.items() if opens <= at < closes}
                assert now == running, (change, at)


@pytest.mark.longer
@by_region
def test_days_that_count_as_steady_have_one_offset_and_no_change_of_the_clocks_near_them(region: str) -> None:
    for zone in REGIONS[region]:
        where, steady = ZoneInfo(zone), SteadyDays(ZoneInfo(zone))
        at = {change.at.date().toordinal() for change in changes(zone)}
        every_fifth = range(FIRST.date().toordinal() + 3, LAST.date().toordinal() - 3, 5)
        for ordinal in {*every_fifth, *(day + away for day in at for away in range(-4, 5))}:
            found = steady.offset(ordinal)
            if found is None:
                assert at & set(range(ordinal - 3, ordinal + 4)), (zone, date.fromordinal(ordinal))
                continue
            assert not at & {ordinal, ordinal + 1}, (zone, date.fromordinal(ordinal))
            noon = datetime.combine(date.fromordinal(ordinal), datetime.min.time(), UTC) + DAY / 2
            for day in (noon - DAY, noon, noon + DAY):
                assert found == offset(day, where) * 60, (zone, date.fromordinal(ordinal))


@pytest.mark.longer
def test_the_list_is_whole() -> None:
    zones = canonical()
    assert len(zones) > 300
    assert {"Europe/Berlin", "Asia/Seoul", "Africa/Casablanca", "Australia/Lord_Howe"} <= set(zones)
    assert sum(len(changes(zone)) for zone in zones) > 210 * (LAST.year - FIRST.year)
