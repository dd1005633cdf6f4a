"""Which openings of a lab's windows belong to a range of time, to the second, and which of them are skipped."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.occurrences import Code, Expansion, SkippedWindow, expand
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
EIGHT, TEN = datetime(2026, 11, 20, 20, 0, tzinfo=UTC), datetime(2026, 11, 20, 22, 0, tzinfo=UTC)
# Clocks in New York go forward at this instant, from 02:00 to 03:00.
SPRING = datetime(2026, 3, 8, 7, 0, tzinfo=UTC)
AUTUMN = datetime(2026, 11, 1, 6, 0, tzinfo=UTC)


def lab(*windows: dict[str, Any], zone: str = "Etc/UTC", excepted: Sequence[str] = ()) -> Lab:
    made = [{"name": "evening", "start": "20:00", "end": "22:00", **each} for each in windows]
    pool = {"instance_type": "g4dn.xlarge", "max_nodes": 3, "price_per_hour": "1"}
    return Lab.model_validate(
        {"name": "lab", "time_zone": zone, "pools": {"gpu": pool}, "windows": made, "except": list(excepted)}
    )


DAILY = lab({"days": "daily"})


def planned(day: date, opens: datetime, closes: datetime, *notes: str) -> PlannedWindow:
    """Of a lab's only window."""
    opening, closing = int(opens.timestamp()), int(closes.timestamp())
    return PlannedWindow("evening", "gpu", day, 3, opening, closing, notes, "lab", 0)


# --- the edges of a range ------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "end", "inside"), [
    (EIGHT - DAY / 2, EIGHT, False),
    (EIGHT - DAY / 2, EIGHT + timedelta(microseconds=1), True),
    (TEN - timedelta(microseconds=1), TEN + MINUTE, True),
    (TEN, TEN + MINUTE, False),
    (EIGHT + MINUTE, TEN - MINUTE, True),
])  # fmt: skip
def test_what_is_open_at_an_instant_of_a_range_belongs_to_it(
    start: datetime, end: datetime, inside: bool
) -> None:
    assert expand(DAILY, start, end).windows == ([planned(EIGHT.date(), EIGHT, TEN)] if inside else [])


@pytest.mark.parametrize(("start", "end", "inside"), [
    (AUTUMN - DAY / 2, AUTUMN + 30 * MINUTE, False),
    (AUTUMN - DAY / 2, AUTUMN + 30 * MINUTE + SECOND, True),
    (AUTUMN + 90 * MINUTE - SECOND, AUTUMN + DAY / 2, True),
    (AUTUMN + 90 * MINUTE, AUTUMN + DAY / 2, False),
])  # fmt: skip
def test_so_does_what_is_open_in_a_night_in_which_clocks_change(
    start: datetime, end: datetime, inside: bool
) -> None:
    night = lab({"days": "sun", "start": "01:30", "end": "02:30"}, zone="America/New_York")
    opens, closes = AUTUMN + 30 * MINUTE, AUTUMN + 90 * MINUTE

    assert expand(night, start, end) == Expansion(
        [planned(date(2026, 11, 1), opens, closes)] if inside else [], []
    )


def test_days_before_a_change_of_the_clocks_are_passed_over_and_its_own_is_not() -> None:
    nights = lab({"days": "daily", "start": "01:30", "end": "02:30"}, zone="America/New_York")
    assert [str(each.date) for each in expand(nights, AUTUMN + HOUR, AUTUMN + 25 * HOUR).windows] == [
        "2026-11-01", "2026-11-02"
    ]  # fmt: skip


@pytest.mark.parametrize(("start", "end", "inside"), [
    (SPRING - DAY / 2, SPRING, False),
    (SPRING - DAY / 2, SPRING + SECOND, True),
    (SPRING, SPRING + DAY / 2, True),
    (SPRING - SECOND / 2, SPRING + DAY / 2, True),
    (SPRING + SECOND / 2, SPRING + DAY / 2, False),
])  # fmt: skip
def test_a_window_of_which_nothing_is_left_is_skipped_in_the_range_of_its_instant(
    start: datetime, end: datetime, inside: bool
) -> None:
    night = lab({"days": "sun", "start": "02:00", "end": "03:00"}, zone="America/New_York")
    forward = reason(
        "calendar.clocks.forward",
        zone="America/New_York",
        date=date(2026, 3, 8),
        before="02:00",
        after="03:00",
    )
    why = reason("calendar.clocks.vanishes", asked=timedelta(hours=1), change=forward)

    assert expand(night, start, end) == Expansion(
        [], [SkippedWindow("evening", "gpu", date(2026, 3, 8), Code.VANISHES, why, 0)] if inside else []
    )
