"""One opening, where clocks go forward or back under it: its instants, and what is said of it."""

from datetime import UTC, date, datetime, timedelta

import pytest

from lamplighter.domain.calendar.wall_clock import opening
from lamplighter.values.zones import EPOCH, zone
from tests.drawn import english

SPRING, AUTUMN = date(2026, 3, 29), date(2026, 10, 25)
FORWARD = "clocks in Europe/Berlin go forward from 02:00 to 03:00 on 2026-03-29"
BACK = "clocks in Europe/Berlin go back from 03:00 to 02:00 on 2026-10-25"


def minute(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def opened(day: date, start: str, end: str, where: str = "Europe/Berlin") -> tuple[str, str, tuple[str, ...]]:
    length = timedelta(minutes=minute(end) - minute(start))
    found = opening(day, minute(start), length, zone(where))
    opens, closes = (EPOCH + timedelta(seconds=at) for at in (found.opens, found.closes))
    return f"{opens:%d %H:%M}", f"{closes:%d %H:%M}", tuple(map(english, found.notes))


@pytest.mark.parametrize(("start", "end", "opens", "closes", "note"), [
    ("00:30", "02:00", "28 23:30", "29 01:00", None),
    ("00:30", "02:01", "28 23:30", "29 01:00", "it lasts 1h30m instead of 1h31m"),
    ("01:59", "03:00", "29 00:59", "29 01:00", "it lasts 1m instead of 1h1m"),
    ("02:00", "03:00", "29 01:00", "29 01:00", "nothing is left of its 1h"),
    ("02:10", "02:40", "29 01:00", "29 01:00", "nothing is left of its 30m"),
    ("02:59", "04:00", "29 01:00", "29 02:00", "it lasts 1h instead of 1h1m"),
    ("03:00", "04:00", "29 01:00", "29 02:00", None),
    ("23:00", "24:00", "29 21:00", "29 22:00", None),
])  # fmt: skip
def test_what_falls_into_the_gap_of_spring_moves_to_its_end(
    start: str, end: str, opens: str, closes: str, note: str | None
) -> None:
    assert opened(SPRING, start, end) == (opens, closes, () if note is None else (f"{note}: {FORWARD}",))


@pytest.mark.parametrize(("start", "end", "opens", "closes", "note"), [
    ("01:00", "02:00", "24 23:00", "25 00:00", None),
    ("01:30", "02:30", "24 23:30", "25 00:30", None),
    ("01:59", "03:00", "24 23:59", "25 02:00", "it lasts 2h1m instead of 1h1m"),
    # Both ends are ambiguous: the first of each.
    ("02:10", "02:50", "25 00:10", "25 00:50", None),
    # An ambiguous start is the second where the first would make it longer.
    ("02:10", "03:10", "25 01:10", "25 02:10", None),
    ("02:00", "03:00", "25 01:00", "25 02:00", None),
    ("03:00", "04:00", "25 02:00", "25 03:00", None),
])  # fmt: skip
def test_what_is_ambiguous_in_autumn_is_the_first_unless_that_would_be_longer(
    start: str, end: str, opens: str, closes: str, note: str | None
) -> None:
    assert opened(AUTUMN, start, end) == (opens, closes, () if note is None else (f"{note}: {BACK}",))


def test_a_zone_without_an_offset_and_one_west_of_it_are_read_alike() -> None:
    assert opened(AUTUMN, "00:00", "23:59", "UTC") == ("25 00:00", "25 23:59", ())
    assert opened(AUTUMN, "20:00", "22:00", "America/New_York") == ("26 00:00", "26 02:00", ())
    assert opened(date(2026, 3, 8), "02:30", "04:00", "America/New_York")[:2] == ("08 07:00", "08 08:00")
    assert opened(date(2026, 3, 29), "00:30", "02:30", "Europe/London") == (
        "29 00:30",
        "29 01:30",
        ("it lasts 1h instead of 2h: clocks in Europe/London go forward from 01:00 to 02:00 on 2026-03-29",),
    )


def test_an_opening_counts_its_seconds_from_1970() -> None:
    found = opening(date(2026, 11, 20), 20 * 60, timedelta(hours=2), zone("UTC"))
    begins = int(datetime(2026, 11, 20, 20, tzinfo=UTC).timestamp())
    assert (found.opens, found.closes) == (begins, begins + 7200)


def test_a_change_of_half_an_hour_is_told_in_minutes() -> None:
    forward = "clocks in Australia/Lord_Howe go forward from 02:00 to 02:30 on 2026-10-04"

    assert opened(date(2026, 10, 4), "01:30", "03:00", "Australia/Lord_Howe") == (
        "03 15:00",
        "03 16:00",
        (f"it lasts 1h instead of 1h30m: {forward}",),
    )
