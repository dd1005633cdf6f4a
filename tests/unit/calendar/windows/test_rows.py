"""The windows of a lab as rows: what is open or to come, at both edges of the time that is asked for."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.calendar.occurrences import Code, SkippedWindow
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.planner.planner import Calendar
from lamplighter.domain.views.lab_view import WindowState, WindowView
from lamplighter.domain.views.windows_view import windows
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, HOUR, lease

# Eight is five in the morning of the 21st in Seoul.
LAB = Lab.model_validate(
    {
        "name": "lab",
        "time_zone": "Asia/Seoul",
        "pools": {"gpu": {"price_per_hour": "1"}, "big": {"price_per_hour": "1"}},
        "windows": [
            {"name": "evening", "days": "fri", "start": "20:00", "end": "23:00", "pool": "big"},
            {"name": "night", "days": "fri", "start": "01:00", "end": "02:00", "pool": "gpu"},
        ],
    }
)
NOTHING = Calendar((), (), {})
SECOND = timedelta(seconds=1)


def rows(*leases: Lease, calendar: Calendar = NOTHING, skips: tuple[Skip, ...] = ()) -> list[WindowView]:
    """Of two days from eight on."""
    by_pool = {"gpu": [each for each in leases if each.pool == "gpu"]}
    by_pool["big"] = [each for each in leases if each.pool == "big"]
    return [*windows(LAB, calendar, by_pool, skips, EIGHT, EIGHT + 48 * HOUR)]


@pytest.mark.parametrize(("more", "shown"), [
    ({}, True),
    ({"state": LeaseState.CLOSED}, False),
    ({"closes": EIGHT}, False),
    ({"closes": EIGHT + SECOND}, True),
    ({"closes": EIGHT - HOUR, "state": LeaseState.CLOSING}, True),
    ({"opens": EIGHT + 48 * HOUR, "closes": EIGHT + 50 * HOUR}, False),
    ({"opens": EIGHT + 48 * HOUR - SECOND, "closes": EIGHT + 50 * HOUR}, True),
])  # fmt: skip
def test_a_lease_is_shown_while_it_runs_is_closed_or_comes_in_time(more: dict[str, Any], shown: bool) -> None:
    assert bool(rows(replace(lease(opens=-120), **more))) is shown


@pytest.mark.parametrize(
    ("later", "shown"), [(timedelta(), True), (48 * HOUR - SECOND, True), (48 * HOUR, False)]
)
def test_what_the_calendar_alone_knows_is_shown_where_it_opens_in_time(later: timedelta, shown: bool) -> None:
    ahead = lease(state=LeaseState.PLANNED, opens=0, closes=600)
    ahead = replace(ahead, opens=EIGHT + later, closes=EIGHT + later + HOUR)
    assert bool(rows(calendar=Calendar((ahead,), (), {}))) is shown


def test_what_the_ledger_has_counts_over_what_the_calendar_would_make_of_it() -> None:
    ahead = lease(nodes=9)
    assert [row.nodes for row in rows(lease(), calendar=Calendar((ahead,), (), {}))] == [2]
    assert rows(lease(state=LeaseState.CLOSED), calendar=Calendar((ahead,), (), {})) == []


@pytest.mark.parametrize(("more", "state", "because"), [
    ({"state": LeaseState.PLANNED}, WindowState.PLANNED, "a note"),
    ({"state": LeaseState.ADMITTED}, WindowState.PLANNED, "a note"),
    ({"state": LeaseState.OPENING}, WindowState.OPEN, "a note"),
    ({"state": LeaseState.CLOSING}, WindowState.OPEN, "a note"),
    ({"state": LeaseState.PLANNED, "refusal": "it is full"}, WindowState.REFUSED, "it is full"),
    ({"state": LeaseState.REFUSED, "because": "no money"}, WindowState.REFUSED, "no money"),
    ({"state": LeaseState.REFUSED, "refusal": "it is full", "because": "no money"}, WindowState.REFUSED, "it is full"),
    ({"state": LeaseState.REFUSED}, WindowState.REFUSED, ""),
    ({"because": "the exam"}, WindowState.OPEN, "a note"),
])  # fmt: skip
def test_a_row_says_what_becomes_of_it_and_why(
    more: dict[str, Any], state: WindowState, because: str
) -> None:
    [row] = rows(replace(lease(), **more), calendar=Calendar((), (), {"evening-1": "a note"}))
    assert row == WindowView(
        "evening", "2026-11-21", "gpu", 2, "class", state, EIGHT, EIGHT + 2 * HOUR, because, "evening-1"
    )


def test_a_lease_keeps_the_date_that_it_has() -> None:
    assert [row.date for row in rows(lease(date="2026-11-20"))] == ["2026-11-20"]


@pytest.mark.parametrize(("day", "shown"), [
    ("2026-11-20", False), ("2026-11-21", True), ("2026-11-23", True), ("2026-11-24", False),
])  # fmt: skip
def test_what_is_left_out_is_shown_on_the_days_that_are_asked_for(day: str, shown: bool) -> None:
    skip = Skip("evening", day, "alice", EIGHT, "of snow")
    left_out = SkippedWindow("night", "gpu", date.fromisoformat(day), Code.EXCEPTED, "the lab says so", 1)

    by_hand, by_lab = (
        WindowView("evening", day, "big", 0, "", WindowState.SKIPPED, None, None,
                   skip.reason()),
        WindowView("night", day, "gpu", 0, "", WindowState.SKIPPED, None, None, "the lab says so"),
    )  # fmt: skip
    assert rows(skips=(skip,)) == ([by_hand] if shown else [])
    assert rows(calendar=Calendar((), (left_out,), {})) == ([by_lab] if shown else [])


def test_a_window_that_the_lab_has_no_more_has_no_pool() -> None:
    assert [row.pool for row in rows(skips=(Skip("gone", "2026-11-22", "alice", EIGHT),))] == [""]


def test_rows_stand_by_date_then_by_opening_then_by_name() -> None:
    def at(name: str, hours: int, day: str, **more: Any) -> Lease:
        return replace(lease(name), opens=EIGHT + hours * HOUR, closes=EIGHT + 30 * HOUR, date=day, **more)

    found = rows(
        at("c-1", 3, "2026-11-21"),
        at("b-1", 2, "2026-11-22"),
        at("a-1", 4, "2026-11-21", window=None, pool="big"),
        at("e-1", 3, "2026-11-21"),
        at("d-1", 3, "2026-11-21", pool="big"),
        skips=(Skip("night", "2026-11-21", "alice", EIGHT),),
    )

    assert [row.window for row in found] == ["night", "c", "d", "e", None, "b"]
