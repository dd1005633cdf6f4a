"""The rules of windows, nodes and money, each by the smallest lab that tells, and what a simulation reckons."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.money.money import Money
from lamplighter.domain.planner.simulation import Simulation, reckoned, simulate
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.builders.leases import HOUR, SECOND
from tests.drawn import english


def play(text: str, begin: str, end: str) -> Simulation:
    lab = parse(f"name: x\n{text}")
    assert isinstance(lab, Lab), lab
    return simulate(lab, datetime.fromisoformat(begin), datetime.fromisoformat(end))


def opened(played: Simulation) -> list[str]:
    return [f"{one.window} {one.date} {one.opens:%dT%H:%M}-{one.closes:%dT%H:%M}" for one in played.windows]


def skipped(played: Simulation) -> list[str]:
    return [f"{one.window} {one.date} {one.code.value}" for one in played.skipped]


def windows(*rests: str) -> str:
    return "windows:\n" + "".join(f"- {{name: w{number}, {rest}}}\n" for number, rest in enumerate(rests))


UTC_LAB = "time_zone: UTC\n"
BERLIN = "time_zone: Europe/Berlin\nguard: {longest_lease: 24h}\n"


@pytest.mark.parametrize(
    ("begin", "end", "meets"),
    [
        ("2026-03-03T09:00:00Z", "2026-03-03T10:00:00Z", False),
        ("2026-03-03T09:00:00Z", "2026-03-03T10:00:01Z", True),
        ("2026-03-03T11:59:59Z", "2026-03-03T13:00:00Z", True),
        ("2026-03-03T12:00:00Z", "2026-03-03T13:00:00Z", False),
        ("2026-03-03T11:59:59.999999Z", "2026-03-03T13:00:00Z", True),
        ("2026-03-03T09:00:00Z", "2026-03-03T10:00:00.000001Z", True),
    ],
)
def test_windows_and_ranges_are_half_open(begin: str, end: str, meets: bool) -> None:
    played = play(UTC_LAB + windows("dates: 2026-03-03, start: 10:00, end: 12:00"), begin, end)
    assert bool(played.windows) is meets
    assert opened(played) == ["w0 2026-03-03 03T10:00-03T12:00"] * meets


def test_exceptions_mean_the_start_date_in_the_windows_zone() -> None:
    text = windows("days: daily, start: 01:00, end: 02:00, time_zone: Asia/Seoul, except: [2026-03-04]")
    played = play(text + "except: [2026-03-05]\n", "2026-03-02T16:00:00Z", "2026-03-05T16:00:00Z")
    assert opened(played) == ["w0 2026-03-03 02T16:00-02T17:00"]
    assert skipped(played) == ["w0 2026-03-04 excepted", "w0 2026-03-05 excepted"]
    assert play(text, "2026-03-03T17:00:00Z", "2026-03-04T16:00:00Z").skipped == []


def test_a_window_inside_the_gap_vanishes_aloud() -> None:
    text = BERLIN + windows("dates: 2026-03-29, start: 02:00, end: 03:00")
    played = play(text, "2026-03-29T01:00:00Z", "2026-03-29T01:00:01Z")
    assert skipped(played) == ["w0 2026-03-29 vanishes"]
    assert english(played.skipped[0].reason).startswith(
        "nothing is left of its 1h: clocks in Europe/Berlin go forward"
    )
    assert play(text, "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z").skipped == []
    assert play(text, "2026-03-29T01:00:00.000001Z", "2026-03-29T02:00:00Z").skipped == []
    excepted = play(text + "except: [2026-03-29]\n", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z")
    assert skipped(excepted) == ["w0 2026-03-29 excepted"]


def test_longest_lease_is_compared_with_the_wall() -> None:
    text = "time_zone: Europe/Berlin\nguard: {longest_lease: 4h}\n"
    played = play(
        text + windows("dates: 2026-10-24, start: 23:00, end: 03:00"),
        "2026-10-24T00:00:00Z",
        "2026-10-26T00:00:00Z",
    )
    assert opened(played) == ["w0 2026-10-24 24T21:00-25T02:00"]
    assert english(played.windows[0].notes[0]).startswith("it lasts 5h instead of 4h")


def test_a_window_is_charged_to_the_period_in_which_it_opens_in_the_labs_zone() -> None:
    lab = 'time_zone: Asia/Seoul\npools: {gpu: {max_nodes: 4, price_per_hour: "1"}}\n'
    text = lab + "guard: {budget: {amount: 4, period: day}}\n" + windows(
        "dates: 2026-03-03, start: 23:00, end: 01:00, nodes: 2",
        "dates: 2026-03-03, start: 15:00, end: 17:00, nodes: 2, time_zone: UTC",  # 4 March in Seoul
        "dates: 2026-03-04, start: 20:00, end: 20:30, nodes: 1",
    )  # fmt: skip
    played = play(text, "2026-03-03T00:00:00Z", "2026-03-05T00:00:00Z")
    assert [one.window for one in played.windows] == ["w0", "w1"]
    assert skipped(played) == ["w2 2026-03-04 over-budget"]


def test_a_budget_of_nothing_refuses_whatever_costs() -> None:
    text = "guard: {budget: {amount: 0}}\npools: {gpu: {price_per_hour: %s}}\n" + windows(
        "days: daily, start: 10:00, end: 11:00"
    )
    assert play(text % "0.0001", "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows == []
    assert len(play(text % "0", "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows) == 1


def test_holds_are_exact_to_the_last_place() -> None:
    third = "0.333333333333333333333333333333333333333"
    text = f"pools: {{gpu: {{price_per_hour: {third}}}}}\nguard: {{budget: {{amount: %s}}}}\n" + windows(
        "dates: 2026-03-03, start: 10:00, end: 13:00, nodes: 1"
    )
    exactly = "0." + "9" * 39
    assert len(play(text % exactly, "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows) == 1
    assert not play(text % (exactly[:-1] + "8"), "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows


DAY = datetime(2026, 3, 3, tzinfo=UTC)
POOLS = {"gpu": {"max_nodes": 2, "price_per_hour": "1"}, "big": {"max_nodes": 2, "price_per_hour": "3"}}
LAB = Lab.model_validate({"name": "x", "time_zone": "UTC", "pools": POOLS})


def window(opens: float, closes: float, nodes: int = 1, pool: str = "gpu") -> PlannedWindow:
    begins, ends = (int((DAY + hours * HOUR).timestamp()) for hours in (opens, closes))
    return PlannedWindow(f"w{opens}", pool, date(2026, 3, 3), nodes, begins, ends, (), "class", 0)


def played(
    *windows: PlannedWindow, begins: datetime = DAY, ends: datetime = DAY + 24 * HOUR, **more: Any
) -> Simulation:
    return reckoned(LAB, begins, ends, list(windows), [], **more)


def capacity(simulation: Simulation) -> list[tuple[int, float, float]]:
    return [(one.nodes, (one.begins - DAY) / HOUR, (one.ends - DAY) / HOUR) for one in simulation.capacity]


@pytest.mark.parametrize(
    ("windows", "stretches"),
    [
        ([window(10, 12)], [(1, 10, 12)]),
        # What is handed over is one stretch, and so is what lies behind it.
        ([window(10, 12), window(12, 14)], [(1, 10, 14)]),
        ([window(10, 12), window(12, 14, 2), window(14, 15)], [(1, 10, 12), (2, 12, 14), (1, 14, 15)]),
        ([window(10, 13), window(11, 12)], [(1, 10, 11), (2, 11, 12), (1, 12, 13)]),
        ([window(10, 11), window(12, 13)], [(1, 10, 11), (1, 12, 13)]),
        ([window(-2, 1), window(23, 26, 2)], [(1, 0, 1), (2, 23, 24)]),
        ([], []),
    ],
)
def test_nodes_are_told_from_change_to_change(
    windows: list[PlannedWindow], stretches: list[tuple[int, float, float]]
) -> None:
    assert capacity(played(*windows)) == stretches


def test_every_pool_costs_its_own_nodes_at_the_lab_s_price_or_at_one_that_is_given() -> None:
    windows = window(10, 12, 2), window(10, 11, pool="big")

    def costs(**more: Any) -> list[tuple[str, Money]]:
        return [(one.pool, one.cost) for one in played(*windows, **more).costs]

    assert costs() == [("gpu", Money.of(4, "USD")), ("big", Money.of(3, "USD"))]
    assert costs(prices={"gpu": Decimal(2)}) == [("gpu", Money.of(8, "USD")), ("big", Money.zero("USD"))]


def test_node_seconds_are_whole_where_they_are_and_else_a_fraction() -> None:
    def written(simulation: Simulation) -> str:
        return json.dumps([one["node_seconds"] for one in simulation.to_json()["cost"]])  # type: ignore[call-overload, index, union-attr]

    assert written(played(window(10, 11))) == "[3600, 0]"
    assert written(played(window(10, 11), begins=DAY + 10 * HOUR + 0.5 * SECOND)) == "[3599.5, 0]"


def test_instants_are_written_with_a_fraction_only_where_there_is_one() -> None:
    document: Any = played(window(10, 11), begins=DAY + 10 * HOUR + 0.5 * SECOND).to_json()

    assert (document["from"], document["to"]) == ("2026-03-03T10:00:00.500000Z", "2026-03-04T00:00:00Z")
    assert document["windows"][0]["opens"] == "2026-03-03T10:00:00Z"
    assert document["windows"][0]["closes"] == "2026-03-03T11:00:00Z"
    assert document["capacity"] == [
        {"pool": "gpu", "nodes": 1, "from": "2026-03-03T10:00:00.500000Z", "to": "2026-03-03T11:00:00Z"}
    ]


@pytest.mark.parametrize(("after", "told"), [(0 * SECOND, False), (SECOND, True)])
def test_a_window_kept_from_opening_early_is_told_if_it_is_in_range(after: timedelta, *, told: bool) -> None:
    on = {"pool": "gpu", "dates": "2026-03-03"}
    first = {"name": "first", "start": "10:00", "end": "12:00", "nodes": 2, **on}
    second = {"name": "second", "start": "12:05", "end": "13:00", "ready": "by", "nodes": 1, **on}
    lab = Lab.model_validate({"name": "x", "time_zone": "UTC", "pools": POOLS, "windows": [first, second]})

    found = simulate(lab, DAY, DAY + 12 * HOUR + after)

    assert [one.window for one in found.windows] == ["first", *(["second"] if told else [])]
    assert [one.opens for one in found.windows[1:]] == ([DAY + 12 * HOUR] if told else [])
