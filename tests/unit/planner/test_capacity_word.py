"""Whether AWS will probably have a pool's nodes: the word for a window, never more than its evidence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.capacity.reservation import (
    BLOCK_ENDS_EARLY,
    Reservation,
    ReservationType,
    ReservedHours,
)
from lamplighter.domain.planner.capacity_word import (
    ENOUGH,
    LAST,
    NEAR,
    RECENT,
    SOON,
    CapacityOutlook,
    CapacityWord,
    Opening,
    PoolRecord,
    openings,
    record,
)
from tests.builders.leases import persons

SEOUL = ZoneInfo("Asia/Seoul")
NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)  # a Monday
EVENING = datetime(2026, 12, 1, 20, 0, tzinfo=SEOUL)
DAY, TYPES = timedelta(days=1), ("g5.xlarge",)


def weekdays(*whole: bool, at: datetime = EVENING) -> tuple[Opening, ...]:
    """Openings at this time of day on the weekdays before, the newest first."""
    days = [at - number * DAY for number in range(1, 40)]
    return tuple(
        Opening(day, each)
        for day, each in zip([day for day in days if day.weekday() < 5], whole, strict=False)
    )


def outlook(*whole: bool, opens: datetime = EVENING) -> CapacityOutlook:
    return PoolRecord(weekdays(*whole), SEOUL, NOW).outlook(opens)


@pytest.mark.parametrize(
    ("whole", "word", "evidence"),
    [
        (
            [True] * 7,
            "likely",
            "7 of the last 7 openings near this time on weekdays had all nodes; last 2026-11-30",
        ),
        ([True, True, True], "likely", "3 of the last 3"),
        ([True, True, True, True, False], "likely", "4 of the last 5"),
        (
            [True, True, True, False],
            "unknown",
            "3 of the last 4 openings near this time on weekdays had all nodes",
        ),
        ([True, True, False], "unknown", "2 of the last 3"),
        ([True, False, True, False], "unknown", "2 of the last 4"),
        (
            [False, False, True, False],
            "unlikely",
            "3 of the last 4 openings near this time on weekdays were short of nodes; last 2026-11-30",
        ),
        ([True, False, False], "unlikely", "2 of the last 3"),
    ],
)
def test_the_pools_own_openings_decide_the_word(whole: list[bool], word: str, evidence: str) -> None:
    found = outlook(*whole)
    assert found.word.value == word
    assert str(found.evidence).startswith(evidence)
    assert found.at == EVENING - DAY
    assert str(found.said) == f"{word}: {found.evidence}"


def test_with_fewer_than_three_openings_nothing_is_known() -> None:
    for number in range(ENOUGH):
        found = outlook(*[True] * number)
        assert found.word is CapacityWord.UNKNOWN
        assert str(found.evidence).startswith(f"{number} of at least 3 openings")
    assert outlook().to_json() == {
        "word": "unknown",
        "evidence": ["0 of at least 3 openings near this time of day are on record"],
        "at": None,
    }


def test_only_the_last_ten_count() -> None:
    assert outlook(*[True] * LAST, *[False] * LAST).word is CapacityWord.LIKELY


@pytest.mark.parametrize(
    ("opens", "word"),
    [
        (EVENING + NEAR, "likely"),
        (EVENING - NEAR, "likely"),
        (EVENING + NEAR + timedelta(minutes=1), "unknown"),
        (EVENING - NEAR - timedelta(minutes=1), "unknown"),
        (EVENING + 4 * DAY, "unknown"),  # a Saturday
    ],
)
def test_openings_of_another_time_or_kind_of_day_say_nothing(opens: datetime, word: str) -> None:
    assert outlook(*[True] * 5, opens=opens).word.value == word


def test_the_time_of_day_goes_round_midnight() -> None:
    late = EVENING.replace(hour=23)
    there = PoolRecord(weekdays(*[True] * 5, at=late), SEOUL, NOW)
    assert there.outlook(EVENING.replace(hour=0, minute=30)).word is CapacityWord.LIKELY


def test_openings_of_long_ago_say_nothing() -> None:
    later = PoolRecord(weekdays(*[True] * 5), SEOUL, EVENING + RECENT)
    assert later.outlook(EVENING + RECENT + DAY).word is CapacityWord.UNKNOWN


def test_a_refusal_now_goes_before_the_record_for_a_window_that_opens_soon() -> None:
    missing = persons(opens=0, closes=120, missing=1)
    now = missing.opens + timedelta(minutes=10)
    known = record([], [missing], None, SEOUL, now)
    assert known.refused
    assert not record([], [persons(opens=0, closes=120)], None, SEOUL, now).refused

    refused = PoolRecord(weekdays(*[True] * 5), SEOUL, EVENING - SOON, refused=True)
    assert (refused.outlook(EVENING).word, refused.outlook(EVENING).at) == (
        CapacityWord.UNLIKELY,
        EVENING - SOON,
    )
    assert refused.outlook(EVENING + timedelta(minutes=1)).word is CapacityWord.LIKELY


def test_an_active_reservation_goes_before_all() -> None:
    block = Reservation(
        "cr-1", ReservationType.BLOCK, "active", "g5.xlarge", "a", 2, True, NOW, EVENING + BLOCK_ENDS_EARLY
    )

    def said(**changes: Any) -> str:
        hours = ReservedHours("gpu", "cr-1", replace(block, **changes))
        record = PoolRecord(weekdays(*[False] * 5), SEOUL, NOW, refused=True, hours=hours)
        return str(record.outlook(EVENING).said)

    assert said(ends=EVENING + timedelta(hours=2)) == "held: reservation cr-1 is active"
    assert said().startswith("unlikely"), "it ends before the window"
    assert said(ends=None, state="scheduled").startswith("unlikely")
    assert (
        PoolRecord((), SEOUL, NOW, hours=ReservedHours("gpu", "cr-1", None)).outlook(EVENING).word
        == "unknown"
    )


def receipt(**changes: object) -> dict[str, object]:
    """Of a lease at eight whose two nodes started for it."""
    lives = [{"instance": "i-1", "from": "2026-11-27T11:00:40Z", "to": None}]
    kept = {"opened": "2026-11-27T11:00:00Z", "instance_types": ["g5.xlarge"], "stages": {"nodes": 90}}
    return {**kept, "node_lives": lives, "findings": [], **changes}


@pytest.mark.parametrize(
    ("changes", "whole"),
    [
        ({}, [True]),
        ({"findings": [{"cause": "no-capacity"}]}, [False]),
        ({"findings": [{"cause": "no-capacity"}], "stages": {}, "node_lives": []}, [False]),
        ({"findings": [{"cause": "xid"}]}, [True]),
        # It took over running nodes: AWS was asked for none.
        ({"node_lives": [{"instance": "i-1", "from": "2026-11-27T10:00:00Z", "to": None}]}, []),
        # It ended before its nodes came, or lacked them for a quota.
        ({"stages": {}}, []),
        ({"stages": {}, "findings": [{"cause": "vcpu-quota"}]}, []),
        # Of other types, of an earlier release, without a lease.
        ({"instance_types": ["g6.xlarge"]}, []),
        ({"instance_types": None}, []),
        ({"opened": None}, []),
    ],
)
def test_a_receipt_counts_where_aws_was_asked_for_nodes_of_these_types(
    changes: dict[str, object], whole: list[bool]
) -> None:
    assert [opening.whole for opening in openings([receipt(**changes)], TYPES)] == whole
