"""On which dates a lab's windows open: weekdays and dates, zones far from UTC, the ends of time, exceptions."""

from datetime import UTC, date, datetime, timedelta

import pytest

from lamplighter.domain.calendar.occurrences import Code, Expansion, SkippedWindow, expand
from lamplighter.reasons.reason import reason
from tests.unit.lab.test_expansion import DAILY, DAY, EIGHT, SECOND, SPRING, TEN, lab, planned


def days(found: Expansion) -> list[str]:
    return [f"{each.window} {each.date:%m-%d}" for each in found.windows]


def test_a_window_starts_on_its_weekdays_from_its_first_date_to_its_last() -> None:
    found = lab({"days": ["mon", "sun"], "from": "2026-11-16", "until": "2026-11-29"})
    assert days(expand(found, EIGHT - 9 * DAY, EIGHT + 30 * DAY)) == [
        "evening 11-16", "evening 11-22", "evening 11-23", "evening 11-29"
    ]  # fmt: skip


def test_a_window_starts_on_its_dates_within_the_range() -> None:
    dates = ["2026-11-20", "2026-11-22", "2027-01-09"]
    found = lab({"dates": dates}, {"name": "late", "dates": dates[:2], "start": "23:00", "end": "23:30"})

    assert days(expand(found, EIGHT, EIGHT + 9 * DAY)) == [
        "evening 11-20", "evening 11-22", "late 11-20", "late 11-22"
    ]  # fmt: skip


def test_the_file_s_order_is_kept() -> None:
    found = expand(lab({"days": "fri"}, {"name": "late", "days": "fri"}), EIGHT, TEN)
    assert [(each.window, each.order) for each in found.windows] == [("evening", 0), ("late", 1)]


@pytest.mark.parametrize(("zone", "times", "inside", "outside"), [
    # As far behind and ahead of UTC as clocks are, and as long as a window may be.
    ("Pacific/Pago_Pago", ("23:59", "23:58"), datetime(2026, 11, 22, 10, 57, 59, tzinfo=UTC), SECOND),
    ("Pacific/Kiritimati", ("00:00", "01:00"), datetime(2026, 11, 19, 10, 0, tzinfo=UTC), -SECOND),
])  # fmt: skip
def test_dates_are_found_wherever_the_zone_is(
    zone: str, times: tuple[str, str], inside: datetime, outside: timedelta
) -> None:
    found = lab({"dates": "2026-11-20", "start": times[0], "end": times[1]}, zone=zone)
    assert days(expand(found, inside, inside + SECOND)) == ["evening 11-20"]
    assert days(expand(found, inside + outside, inside + outside + SECOND)) == []


def test_years_are_planned_as_far_as_every_zone_can_name_them() -> None:
    begin, end = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)

    assert [str(each.date) for each in expand(DAILY, begin, begin + 367 * DAY).windows] == [
        "0002-01-01", "0002-01-02"
    ]  # fmt: skip
    dated = lab({"dates": ["0001-12-31", "0002-01-01", "9998-12-31", "9999-01-01"]})
    assert [str(each.date) for each in expand(dated, begin, end).windows] == ["0002-01-01", "9998-12-31"]
    assert [str(each.date) for each in expand(DAILY, end - 366 * DAY, end).windows] == [
        "9998-12-30", "9998-12-31"
    ]  # fmt: skip


# --- exceptions ----------------------------------------------------------------------------------


def test_an_exception_is_skipped_and_says_whose_it_is() -> None:
    found = lab({"days": ["thu", "fri"], "except": ["2026-11-19"]}, excepted=["2026-11-19", "2026-11-20"])

    assert expand(found, EIGHT - 2 * DAY, EIGHT + 7 * DAY) == Expansion(
        [planned(date(2026, 11, 26), EIGHT + 6 * DAY, TEN + 6 * DAY)],
        [
            SkippedWindow("evening", "gpu", date(2026, 11, day), Code.EXCEPTED, why, 0)
            for day, why in (
                (19, reason("calendar.excepted.window", date=date(2026, 11, 19), window="evening")),
                (20, reason("calendar.excepted.lab", date=date(2026, 11, 20))),
            )
        ],
    )


def test_an_exception_counts_before_a_clock_that_leaves_nothing() -> None:
    night = lab(
        {"days": "sun", "start": "02:00", "end": "03:00"}, zone="America/New_York", excepted=["2026-03-08"]
    )

    [skipped] = expand(night, SPRING, SPRING + SECOND).skipped

    assert skipped.code is Code.EXCEPTED
