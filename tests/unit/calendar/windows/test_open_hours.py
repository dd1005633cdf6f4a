"""Which windows of a lab's calendar are open, at the very second at which one opens and closes."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.course import CourseEvent
from lamplighter.domain.calendar.hours import FIRST_DATE, LAST_DATE
from lamplighter.domain.calendar.timetable import Timetable
from lamplighter.lab.model import Lab
from tests.unit.pool.test_standing import Lectures

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
# A Tuesday in Seoul, where 20:00 is 11:00 UTC.
OPENS = datetime(2026, 12, 1, 11, tzinfo=UTC)
EVENING = {"name": "evening", "days": "tue", "start": "20:00", "end": "23:00"}


def lab(*windows: dict[str, Any], **more: Any) -> Lab:
    return Lab.model_validate(
        {"name": "x", "guard": {"longest_lease": "24h"}, "windows": list(windows), **more}
    )


def dates(at: datetime, **changed: Any) -> list[str]:
    """The dates of the openings of one window that an instant is in."""
    found = Timetable(lab({**EVENING, **changed})).open_at(at)
    return [window.date.isoformat() for window in found.of("gpu")]


@pytest.mark.parametrize(("after", "is_open"), [
    (-SECOND, False), (0 * SECOND, True), (3 * HOUR - SECOND, True), (3 * HOUR, False), (24 * HOUR, False),
])  # fmt: skip
def test_a_window_is_open_from_the_second_of_its_start_until_before_its_end(
    after: timedelta, *, is_open: bool
) -> None:
    assert dates(OPENS + after) == (["2026-12-01"] if is_open else [])
    assert dates(OPENS + after + timedelta(microseconds=999_999)) == (["2026-12-01"] if is_open else [])


def test_what_is_open_says_when_it_opened_and_will_close() -> None:
    (window,) = Timetable(lab(EVENING)).open_at(OPENS)["gpu"]
    assert (window.opens, window.closes, window.lease) == (OPENS, OPENS + 3 * HOUR, "evening-2026-12-01")


@pytest.mark.parametrize(("minutes", "open_of"), [
    (-1, ["2026-12-01"]), (0, []), (119, []), (120, ["2026-12-02"]), (24 * 60 - 1, ["2026-12-02"]),
])  # fmt: skip
def test_a_window_over_midnight_is_of_the_date_on_which_it_began(minutes: int, open_of: list[str]) -> None:
    # 20:00 in Seoul on 2 December.
    at = OPENS + 24 * HOUR + minutes * timedelta(minutes=1)
    assert dates(at, days="daily", start="22:00", end="20:00") == open_of


@pytest.mark.parametrize(("minutes", "is_open"), [(-1, False), (0, True), (179, True), (180, False)])
def test_west_of_greenwich_and_where_clocks_go_back_a_window_is_open_by_the_wall(
    minutes: int, *, is_open: bool
) -> None:
    after = minutes * timedelta(minutes=1)
    # 20:00 in New York; and 01:00 in Berlin, two hours before clocks go from 03:00 to 02:00.
    evening, night = datetime(2026, 12, 2, 1, tzinfo=UTC), datetime(2026, 10, 24, 23, tzinfo=UTC)

    assert bool(dates(evening + after, time_zone="America/New_York")) is is_open
    berlin = {"days": "sun", "start": "01:00", "end": "03:00", "time_zone": "Europe/Berlin"}
    assert bool(dates(night + after, **berlin)) is is_open
    # After clocks went from 02:00 to 03:00, three hours later on the wall.
    forward = datetime(2026, 3, 29, 2, tzinfo=UTC)
    assert bool(dates(forward + after, **{**berlin, "start": "04:00", "end": "07:00"})) is is_open


@pytest.mark.parametrize(("bounds", "open_of"), [
    ({"from": "2026-12-01"}, ["2026-12-01"]),
    ({"from": "2026-12-02"}, []),
    ({"until": "2026-12-01"}, ["2026-12-01"]),
    ({"until": "2026-11-30"}, []),
    ({"except": ["2026-12-01"]}, []),
    ({"except": ["2026-12-08"]}, ["2026-12-01"]),
    ({"days": None, "dates": ["2026-12-01"]}, ["2026-12-01"]),
    ({"days": None, "dates": ["2026-12-08"]}, []),
    ({"days": "mon"}, []),
    ({"days": "daily"}, ["2026-12-01"]),
])  # fmt: skip
def test_a_window_is_open_on_its_own_dates_alone(bounds: dict[str, Any], open_of: list[str]) -> None:
    window = {key: value for key, value in {**EVENING, **bounds}.items() if value is not None}
    found = Timetable(lab(window)).open_at(OPENS)
    assert [one.date.isoformat() for one in found.of("gpu")] == open_of


@pytest.mark.parametrize(("day", "is_open"), [
    (FIRST_DATE - timedelta(days=1), False),
    (FIRST_DATE, True),
    (LAST_DATE, True),
    (LAST_DATE + timedelta(days=1), False),
])  # fmt: skip
def test_windows_are_known_between_the_first_and_the_last_date(day: date, *, is_open: bool) -> None:
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    assert bool(dates(noon, days="daily", start="11:00", end="13:00", time_zone="UTC")) is is_open


def test_windows_of_a_pool_come_in_the_file_s_order_those_that_follow_a_course_among_them() -> None:
    begins = int(OPENS.timestamp())
    lectures = Lectures(
        (
            CourseEvent("bb22", "Second", OPENS.date(), begins - 60, begins + 3600, 3660),
            CourseEvent("aa11", "First", OPENS.date(), begins - 120, begins + 1, 121),
        )
    )
    windows = [
        {**EVENING, "name": "before"},
        {"name": "course", "calendar": "https://example.org/c.ics"},
        {**EVENING, "name": "after"},
    ]

    found = Timetable(lab(*windows), {"course": lectures}).open_at(OPENS)

    assert [window.lease for window in found["gpu"]] == [
        "before-2026-12-01",
        "course-2026-12-01-aa11",
        "course-2026-12-01-bb22",
        "after-2026-12-01",
    ]
    later = Timetable(lab(*windows), {"course": lectures}).open_at(OPENS + SECOND)
    assert [window.event for window in later["gpu"]] == ["", "bb22", ""]
    assert [
        window.window for window in Timetable(lab(*windows), {"other": lectures}).open_at(OPENS)["gpu"]
    ] == ["before", "after"]


def test_an_event_is_open_from_its_first_second() -> None:
    begins = int(OPENS.timestamp())
    lectures = Lectures((CourseEvent("aa11", "First", OPENS.date(), begins, begins + 60, 60),))
    timetable = Timetable(
        lab({"name": "course", "calendar": "https://example.org/c.ics"}), {"course": lectures}
    )

    def is_open(after: timedelta) -> bool:
        return bool(timetable.open_at(OPENS + after).of("gpu"))

    assert [is_open(seconds * SECOND) for seconds in (-2, -1, 0, 59, 60)] == [False, False, True, True, False]


def test_pools_without_an_open_window_are_left_out() -> None:
    pools: dict[str, dict[str, int]] = {"gpu": {}, "big": {}, "idle": {}}
    found = Timetable(
        lab(
            {**EVENING, "pool": "gpu"},
            {**EVENING, "name": "night", "pool": "big"},
            {**EVENING, "name": "mondays", "pool": "idle", "days": "mon"},
            pools=pools,
        )
    ).open_at(OPENS)

    assert (list(found), len(found)) == (["gpu", "big"], 2)
    assert (found.of("idle"), found.of("nobody")) == ([], ())
    with pytest.raises(KeyError, match="idle"):
        found["idle"]
