"""What cost and why say in Slack, line for line."""

from dataclasses import replace

import pytest

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.why import Explanation
from lamplighter.domain.pool.target import NOTHING
from lamplighter.domain.slack import seeing
from tests.unit.slack.board.test_message import EIGHT, MINUTE, OPEN
from tests.unit.slack.shown.test_seen_lines import BUDGET, LAB, POOL, VOICE, usd

PERIOD = "Month 2026-11: 30.00 USD spent, 20.00 USD held, 50.00 USD left of 100.00 USD."
FORECAST = "With what is planned, it will be 55.00 USD by 21:00 (Asia/Seoul)."


@pytest.mark.parametrize(("overrun", "unleased", "beside"), [(2, 1, 3), (2, 0, 2), (0, 1, 1)])
def test_money_beside_the_leases_is_said_where_there_is_any(overrun: int, unleased: int, beside: int) -> None:
    spent = replace(BUDGET, overrun=usd(overrun), unleased=usd(unleased))

    assert seeing.cost(replace(LAB, budget=spent), VOICE).text.splitlines() == [
        PERIOD,
        FORECAST,
        f"Of this, {beside}.00 USD ran without a lease or after the end of one.",
    ]


def test_each_lease_is_said_with_what_it_came_to_or_holds_up_to_twenty_lines() -> None:
    none_yet = replace(OPEN, cost_so_far=None)
    lab = replace(LAB, pools=(replace(POOL, leases=(OPEN, none_yet)), replace(POOL, leases=(OPEN,))))

    assert seeing.cost(lab, VOICE).text.splitlines() == [
        PERIOD,
        FORECAST,
        "`evening-1` (minji): 1.00 USD so far.",
        "`evening-1` (minji): 4.00 USD so far.",
        "`evening-1` (minji): 1.00 USD so far.",
    ]
    many = replace(LAB, pools=(replace(POOL, leases=(OPEN,) * 19),))
    assert len(seeing.cost(many, VOICE).text.splitlines()) == 20


def happened(number: int) -> Entry:
    return Entry(EIGHT + number * MINUTE, "gpu", "scaled", "minji (U0MINJI)", f"asked {number}", "the exam")


def test_why_tells_the_target_the_decision_and_the_last_six_steps() -> None:
    trail = tuple(happened(number) for number in range(7))
    causes = Entry(
        EIGHT,
        "gpu",
        "finding",
        "diagnosis",
        "w",
        "y",
        details={"summary": "a <GPU> fell off", "advice": "wait"},
    )
    found = Explanation(EIGHT, NOTHING, trail[0], trail, (), (causes,))

    assert seeing.why("gpu", found, 7, VOICE).text.splitlines() == [
        "gpu should have 0 nodes: no lease is in force, so no node is justified.",
        "Last decided at 20:00 (Asia/Seoul): minji (U0MINJI) asked 0, because the exam.",
        "a &lt;GPU&gt; fell off → wait",
        *(f"20:0{number}  minji: asked {number}. the exam" for number in range(1, 7)),
    ]


def test_why_says_where_nothing_happened() -> None:
    assert seeing.why("gpu", Explanation(EIGHT, NOTHING, None, ()), 7, VOICE).text.splitlines() == [
        "gpu should have 0 nodes: no lease is in force, so no node is justified.",
        "Nothing happened to this pool in the last 7 days.",
    ]
