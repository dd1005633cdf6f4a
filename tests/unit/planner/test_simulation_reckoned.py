"""What a simulation reckons: nodes from window to window, clipped to the range, and what they cost, as numbers."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.money.money import Money
from lamplighter.domain.planner.simulation import Simulation, reckoned, simulate
from lamplighter.lab.model import Lab
from tests.builders.leases import HOUR, SECOND

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
