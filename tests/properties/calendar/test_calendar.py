"""The calendar against a reading of zoneinfo minute by minute, which knows none of its rules of thumb."""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.calendar.occurrences import Code, expand
from lamplighter.domain.calendar.wall_clock import opening
from lamplighter.lab.model import Lab
from lamplighter.lab.types import MINUTES_A_DAY, write_time
from lamplighter.values import zones
from tests.lengths import examples

# Half-hour changes, changes at midnight, double changes of Ramadan, a day that never was, zones ahead and behind.
ZONES = [
    "Europe/Berlin", "Europe/Lisbon", "America/New_York", "America/Havana", "America/Asuncion",
    "America/St_Johns", "Africa/Cairo", "Africa/Casablanca", "Asia/Beirut", "Asia/Seoul", "Asia/Kathmandu",
    "Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Kiritimati", "Antarctica/Troll",
]  # fmt: skip
MINUTE = timedelta(minutes=1)


@cache
def wall_of(zone: str, day: date) -> dict[datetime, list[int]]:
    """What the clock on the wall shows, and at which instants, from a day before a date to three after it."""
    where = ZoneInfo(zone)
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=2)
    shown: dict[datetime, list[int]] = {}
    for minute in range(6 * MINUTES_A_DAY):
        at = begin + minute * MINUTE
        shown.setdefault(at.astimezone(where).replace(tzinfo=None), []).append(int(at.timestamp()))
    return shown


def read(zone: str, day: date, wall: datetime) -> list[int]:
    """The instants at which the wall shows a time; where it never does, the first instant that is past it."""
    shown = wall_of(zone, day)
    if wall in shown:
        return shown[wall]
    return [min(instants[0] for time, instants in shown.items() if time > wall)]


def expected(zone: str, day: date, start: int, end: int) -> tuple[int, int]:
    """The contract's rules, word by word."""
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001
    length = end - start + (MINUTES_A_DAY if end < start else 0)
    opens = read(zone, day, midnight + start * MINUTE)
    closes = read(zone, day, midnight + (start + length) * MINUTE)[0]
    if len(opens) > 1 and closes - opens[0] > length * 60:
        return opens[1], closes
    return opens[0], closes


def changes(zone: str) -> list[date]:
    """The dates of 2024 to 2030 on which a zone's clocks change."""
    where = zones.zone(zone)
    days = []
    for ordinal in range(date(2024, 1, 1).toordinal(), date(2031, 1, 1).toordinal()):
        at = (ordinal - zones.EPOCH_ORDINAL) * zones.DAY
        change = zones.change_within(where, at, at + zones.DAY)
        if change is not None:
            days.append((datetime.fromtimestamp(change, UTC)).astimezone(where).date())
    return days


NEAR_CHANGES = [(zone, day) for zone in ZONES for day in changes(zone)]


@settings(max_examples=examples(75, 800))
@given(
    at=st.sampled_from(NEAR_CHANGES),
    away=st.integers(-2, 1),
    start=st.integers(0, MINUTES_A_DAY - 1) | st.integers(0, 300),
    length=st.integers(1, MINUTES_A_DAY) | st.integers(1, 240),
)
def test_every_window_near_a_clock_change_is_where_the_wall_says(
    at: tuple[str, date], away: int, start: int, length: int
) -> None:
    zone, day = at[0], at[1] + timedelta(days=away)
    end = (start + length - 1) % MINUTES_A_DAY + 1
    length = end - start + (MINUTES_A_DAY if end < start else 0)
    if start == end:
        return
    found = opening(day, start, timedelta(minutes=length), zones.zone(zone))
    assert (found.opens, found.closes) == expected(zone, day, start, end)
    assert bool(found.notes) == (found.closes - found.opens != length * 60)


@settings(max_examples=examples(20, 200))
@given(at=st.sampled_from(NEAR_CHANGES), start=st.integers(0, 1439), end=st.integers(1, 1440))
def test_expanding_takes_no_other_way_on_steady_days(at: tuple[str, date], start: int, end: int) -> None:
    if start == end:
        return
    zone, day = at
    lab = Lab.model_validate(
        {
            "name": "x",
            "time_zone": zone,
            "windows": [{"name": "w", "days": "daily", "start": write_time(start), "end": write_time(end)}],
        }
    )
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    found = expand(lab, noon - timedelta(days=5), noon + timedelta(days=5))
    told = {one.date: (one.opening, one.closing) for one in found.windows}
    vanished = {one.date for one in found.skipped if one.code is Code.VANISHES}
    for away in range(-3, 4):
        here = day + timedelta(days=away)
        opens, closes = expected(zone, here, start, end)
        if closes <= opens:
            assert here in vanished
        else:
            assert told[here] == (opens, closes)


def test_a_day_that_an_island_skipped_has_no_windows() -> None:
    found = opening(date(2011, 12, 30), 20 * 60, timedelta(hours=3), zones.zone("Pacific/Apia"))
    assert found.closes <= found.opens
    assert "Pacific/Apia" in str(found.notes[0])


@pytest.mark.parametrize("zone", ZONES)
def test_steady_days_keep_their_offset(zone: str) -> None:
    where, steady = ZoneInfo(zone), zones.SteadyDays(ZoneInfo(zone))
    for ordinal in range(date(2026, 1, 1).toordinal(), date(2027, 1, 1).toordinal()):
        offset = steady.offset(ordinal)
        if offset is not None:
            midnight = (ordinal - zones.EPOCH_ORDINAL) * zones.DAY - offset
            hours = range(midnight - zones.DAY, midnight + 3 * zones.DAY, 3600)
            assert {zones.offset_at(where, at) for at in hours} == {offset}
