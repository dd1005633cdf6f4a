"""When a curfew is: the instants of its minute, and the first one whose stretch meets a stretch of time."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.leases.curfew import Curfew, instants
from tests.builders.leases import HOUR, MINUTE

NEW_YORK, ST_JOHNS = ZoneInfo("America/New_York"), ZoneInfo("America/St_Johns")
FOUR = Curfew(4 * 60, ZoneInfo("Etc/UTC"))
CURFEW = datetime(2026, 11, 20, 4, 0, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("opens", "closes", "first"),
    [
        (CURFEW - HOUR, CURFEW, None),
        (CURFEW - HOUR, CURFEW + INSTANT, CURFEW),
        (CURFEW + 10 * MINUTE - INSTANT, CURFEW + HOUR, CURFEW),
        (CURFEW + 10 * MINUTE, CURFEW + HOUR, None),
        # Days ahead: the first of many.
        (CURFEW + HOUR, CURFEW + 72 * HOUR, CURFEW + 24 * HOUR),
        (CURFEW - 5 * HOUR, CURFEW + HOUR, CURFEW),
    ],
)
def test_first_curfew_that_meets_a_lease(opens: datetime, closes: datetime, first: datetime | None) -> None:
    assert FOUR.first(opens, closes) == first


def test_a_minute_of_a_date_comes_once_twice_or_never() -> None:
    assert instants(date(2026, 11, 2), 61, NEW_YORK) == [datetime(2026, 11, 2, 6, 1, tzinfo=UTC)]
    assert instants(date(2026, 11, 1), 61, NEW_YORK) == [
        datetime(2026, 11, 1, 5, 1, tzinfo=UTC),
        datetime(2026, 11, 1, 6, 1, tzinfo=UTC),
    ]
    assert instants(date(2026, 3, 8), 150, NEW_YORK) == []


def test_clocks_that_go_back_over_midnight_hide_no_curfew_of_either_date() -> None:
    """In St. John's they went from 00:01 on the seventh back to 23:01 on the sixth."""
    change = datetime(2010, 11, 7, 2, 31, tzinfo=UTC)
    midnight, half_past = Curfew(0, ST_JOHNS), Curfew(23 * 60 + 30, ST_JOHNS)
    assert midnight.first(change - HOUR / 2, change + HOUR / 4) == change - MINUTE
    assert half_past.first(change + 9 * MINUTE + MINUTE / 2, change + HOUR) == change + 29 * MINUTE
