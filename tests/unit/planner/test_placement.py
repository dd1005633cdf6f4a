"""Which windows get nodes and money, whole: at the last node and the last cent, and one beyond."""

from datetime import date, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.occurrences import Code, SkippedWindow
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.capacity.evidence import Controller, Instance
from lamplighter.domain.capacity.node_group.evidence import NodeGroupUpdate, ScalingActivity
from lamplighter.domain.capacity.node_group.seen import member
from lamplighter.domain.granting.admission import pool_full, with_nodes
from lamplighter.domain.planner.placement import Placement, place
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason
from tests.builders.leases import EIGHT

NINE = EIGHT + timedelta(hours=1)
DAY = date(2026, 11, 20)


def lab(amount: str = "10", period: str = "month", **owners: str) -> Lab:
    pool = {"instance_type": "g4dn.xlarge", "max_nodes": 3, "price_per_hour": "1"}
    budget = {"amount": amount, "period": period, "owners": owners}
    return Lab.model_validate(
        {"name": "lab", "time_zone": "Etc/UTC", "pools": {"gpu": pool}, "guard": {"budget": budget}}
    )


def window(
    name: str, opens: float = 0, closes: float = 1, nodes: int = 1, order: int = 0, **more: Any
) -> PlannedWindow:
    """Hours after eight."""
    opening, closing = (int((EIGHT + timedelta(hours=hours)).timestamp()) for hours in (opens, closes))
    return PlannedWindow(
        name, "gpu", DAY, nodes, opening, closing, (), more.pop("owner", "class"), order, **more
    )


def refused(one: PlannedWindow, code: Code, reason: Said) -> SkippedWindow:
    return SkippedWindow(one.window, "gpu", DAY, code, reason, one.order)


def test_a_pool_is_filled_to_its_last_node_and_who_comes_later_is_refused_whole() -> None:
    first, second = window("a", closes=2, nodes=2), window("b", opens=1, closes=2, order=1)
    third, pair = window("c", opens=1, closes=3, order=2), window("d", opens=1, closes=3, nodes=2, order=3)
    after = window("e", opens=2, closes=3, nodes=3, order=4)

    taken = tuple(
        with_nodes(reason("lease.of-window", window=name), nodes) for name, nodes in (("b", 1), ("a", 2))
    )
    assert place(lab("99"), [after, pair, third, second, first]) == Placement(
        [first, second, after],
        [
            refused(third, Code.POOL_FULL, pool_full("gpu", NINE, taken, 1, 3, 3)),
            refused(pair, Code.POOL_FULL, pool_full("gpu", NINE, taken, 2, 3, 3)),
        ],
    )


def test_of_two_that_open_together_the_first_in_the_file_goes_first() -> None:
    first, second = window("a", nodes=2, order=0), window("b", nodes=2, order=1)
    assert place(lab(), [second, first]).admitted == [first]


@pytest.mark.parametrize(
    ("period", "amount", "words"),
    [
        ("month", "3", None),
        (
            "month",
            "2.9999",
            "it would cost 1.0000 USD, more than is left of the 2.9999 USD for the month (2026-11): 0.9999 USD is left",
        ),
        (
            "week",
            "2.5",
            "it would cost 1.0000 USD, more than is left of the 2.5000 USD for the week (2026-W47): 0.5000 USD is left",
        ),
        (
            "day",
            "2.5",
            (
                "it would cost 1.0000 USD, more than is left of the 2.5000 USD for the day (2026-11-20): "
                "0.5000 USD is left"
            ),
        ),
    ],
)
def test_a_budget_is_given_away_to_its_last_cent(period: str, amount: str, words: str | None) -> None:
    first, second = window("a", nodes=2), window("b", opens=1, closes=2)

    found = place(lab(amount, period), [first, second])

    assert found.admitted == ([first, second] if words is None else [first])
    assert [(one.code, str(one.reason)) for one in found.refused] == (
        [] if words is None else [(Code.OVER_BUDGET, words)]
    )


def test_the_next_period_has_money_of_its_own() -> None:
    today, tomorrow = window("a", nodes=2), window("b", opens=4, closes=6)
    assert place(lab("2", "day"), [today, tomorrow]).admitted == [today, tomorrow]
    assert place(lab("2", "month"), [today, tomorrow]).admitted == [today]


def test_an_owner_s_part_bounds_the_owner_alone() -> None:
    mine, more = window("a", nodes=2, owner="alice"), window("b", opens=1, closes=2, owner="alice")
    other = window("c", opens=2, closes=3, nodes=3)

    assert place(lab("10", alice="3"), [mine, more, other]) == Placement([mine, more, other], [])
    found = place(lab("10", alice="2.5"), [mine, more, other])
    assert found.admitted == [mine, other]
    assert [(one.window, one.code, str(one.reason)) for one in found.refused] == [
        (
            "b",
            Code.OVER_BUDGET,
            (
                "it would cost 1.0000 USD, more than is left of the 2.5000 USD that alice has for the month (2026-11): "
                "0.5000 USD is left"
            ),
        )
    ]


def test_what_was_refused_holds_neither_nodes_nor_money() -> None:
    dear, full, cheap = window("a", closes=9, nodes=2), window("b", nodes=4), window("c", opens=0.5, nodes=3)
    assert place(lab("2"), [dear, full, cheap]).admitted == [cheap]


@pytest.mark.parametrize(
    ("lifecycle", "leaving", "drains"),
    [
        ("InService", False, False),
        ("Pending:Wait", False, False),
        ("Terminating", True, False),
        ("Terminating:Wait", True, True),
        ("Terminated", True, False),
        ("Warmed:Terminating", True, False),
        ("Warmed:Terminating:Wait", True, True),
    ],
)
def test_a_member_leaves_once_its_end_has_begun(lifecycle: str, leaving: bool, drains: bool) -> None:
    found = member("i-1", "a", lifecycle)
    assert (found.leaving, found.waits_for_drain) == (leaving, drains)
    assert Controller("g", 0, 2, 1, (found,)).staying == (() if leaving else (found,))


@pytest.mark.parametrize(
    "lifecycle",
    ["Warmed:Pending", "Warmed:Pending:Wait", "Warmed:Stopped", "Warmed:Running", "Warmed:Hibernated"],
)
def test_a_member_in_a_warm_pool_is_no_node_of_the_groups_size(lifecycle: str) -> None:
    found = member("i-1", "a", lifecycle)
    assert (found.warm, found.leaving) == (True, False)
    assert Controller("g", 0, 2, 1, (found,)).staying == ()


@pytest.mark.parametrize(
    ("status", "going", "failed"),
    [
        ("InProgress", True, False),
        ("Successful", False, False),
        ("Failed", False, True),
        ("Cancelled", False, True),
    ],
)
def test_an_update_and_an_activity_fail_or_are_cancelled(status: str, going: bool, failed: bool) -> None:
    update = NodeGroupUpdate("u", "VersionUpdate", status, EIGHT)

    assert (update.in_progress, update.failed) == (going, failed)
    assert ScalingActivity("1", status, "Launching a new EC2 instance", "", EIGHT, None).failed is failed
    assert ScalingActivity("1", status, "Launching a new EC2 instance", "", EIGHT, None).launches
    assert not ScalingActivity("1", status, "Terminating EC2 instance", "", EIGHT, None).launches


@pytest.mark.parametrize(
    ("state", "alive", "exists"),
    [
        ("pending", True, True),
        ("running", True, True),
        ("stopping", True, True),
        ("stopped", True, True),
        ("shutting-down", False, True),
        ("terminated", False, False),
    ],
)
def test_an_instance_costs_until_it_shuts_down(state: str, alive: bool, exists: bool) -> None:
    one = Instance("i-1", "g4dn.xlarge", "a", state, EIGHT, None, None, "")
    assert (one.alive, one.exists) == (alive, exists)


def test_the_windows_of_one_person_under_two_names_share_the_persons_part() -> None:
    first, second = window("a", owner="min (U1MIN)"), window("b", opens=2, closes=3, owner="minji (U1MIN)")
    part = lab("99", **{"Kim Minji (U1MIN)": "1.5"})

    assert place(part, [first, second]).admitted == [first]
    [late] = place(part, [first, second]).refused
    assert (late.window, late.code) == ("b", Code.OVER_BUDGET)
