"""On which days a time zone has no clock change, and which offsets lie near an instant."""

from datetime import UTC, date, datetime, timedelta

import pytest

from lamplighter.values.zones import change_within, offset_at, steady_days, zone
from tests.builders.leases import DAY, HOUR, SECOND

# Berlin's clocks go back at 01:00 UTC, Auckland's went forward at 14:00 UTC of the day before.
BERLIN = datetime(2026, 10, 25, 1, tzinfo=UTC)


def seconds(at: datetime) -> int:
    return int(at.timestamp())


@pytest.mark.parametrize(
    ("name", "day", "before", "after", "around"),
    [
        ("Europe/Berlin", date(2026, 10, 25), 2, 1, range(-2, 2)),
        ("Pacific/Auckland", date(2026, 9, 27), 12, 13, range(-3, 2)),
    ],
)
def test_no_offset_near_a_clock_change(name: str, day: date, before: int, after: int, around: range) -> None:
    days = steady_days(name)
    for away in range(-6, 7):
        offset = None if away in around else (before if away < 0 else after) * 3600
        assert days.offset(day.toordinal() + away) == offset, away


def test_a_local_day_is_the_one_on_the_wall() -> None:
    days = steady_days("Europe/Berlin")
    # Summer time has two hours until the change, the night after it one.
    for at, day in (
        (BERLIN - 3 * HOUR - SECOND, 24),
        (BERLIN - 3 * HOUR, 25),
        (BERLIN + 22 * HOUR - SECOND, 25),
        (BERLIN + 22 * HOUR, 26),
        (BERLIN + 10 * DAY + 22 * HOUR - SECOND, 35),
    ):
        assert days.local_day(seconds(at)) == date(2026, 10, 1).toordinal() + day - 1


@pytest.mark.parametrize(
    ("away", "offsets"),
    [
        (-3 * DAY - 13 * HOUR, (7200, 7200)),
        (-3 * DAY + SECOND, (3600, 7200)),
        (0 * DAY, (3600, 7200)),
        (3 * DAY - SECOND, (3600, 7200)),
        (3 * DAY + 11 * HOUR, (3600, 3600)),
    ],
)
def test_offsets_around_an_instant_are_of_three_days(away: timedelta, offsets: tuple[int, int]) -> None:
    assert steady_days("Europe/Berlin").offsets_around(seconds(BERLIN + away)) == offsets


def test_a_change_is_found_to_the_second() -> None:
    at, berlin = seconds(BERLIN), zone("Europe/Berlin")

    assert (offset_at(berlin, at - 1), offset_at(berlin, at)) == (7200, 3600)
    for low, high in (
        (at - 1, at),
        (at - 1, at + 1),
        (at - 2, at),
        (at - 90_000, at + 7),
        (at - 5, at + 9e4),
    ):
        assert change_within(berlin, low, int(high)) == at
    assert change_within(berlin, at, at + 90_000) is None
    assert change_within(berlin, at - 90_000, at - 1) is None
