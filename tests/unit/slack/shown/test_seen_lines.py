"""What status, windows, leases, cost and why say in Slack, line for line."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.why import Explanation
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.doctor.readiness import Grade, Readiness, ReadinessFinding
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.planner.capacity_word import Opening, PoolRecord
from lamplighter.domain.pool.pool import PoolState, SeenGpus
from lamplighter.domain.pool.target import NOTHING
from lamplighter.domain.slack import seeing
from lamplighter.domain.slack.answers import Speech
from lamplighter.domain.slack.times import Times
from lamplighter.domain.views.lab_view import BudgetView, LabView, PoolView, WindowState, WindowView
from lamplighter.domain.views.lease_view import LeaseStanding
from lamplighter.reasons.reason import reason
from tests.unit.slack.board.test_message import EIGHT, MINUTE, OPEN
from tests.unit.slack.recording import evening

SEOUL = ZoneInfo("Asia/Seoul")
HOUR = timedelta(hours=1)
VOICE = Speech(ENGLISH, Times(SEOUL, EIGHT))
POOL = PoolView("gpu", "g5.xlarge", 4, 1, "enforce", PoolState("gpu"), NOTHING, (), (), None)
OPENING = replace(OPEN, standing=LeaseStanding.OPENING, gpus_expected=EIGHT + 9 * MINUTE)
NEXT = replace(OPEN, opens=EIGHT + 24 * HOUR)
NO_NEXT = "Nothing is planned to open."


def usd(amount: int) -> Money:
    return Money.of(amount, "USD")


def status(view: PoolView, pause: Pause | None = None) -> list[str]:
    return seeing.status([view], pause, VOICE).text.splitlines()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "*gpu* is closed."),
        ({"closing": (OPEN,)}, "*gpu* is closing."),
        ({"leases": (OPEN,), "state": PoolState("gpu", leaked_because="i-1 runs since 10:00 UTC on 2026-11-20.")},
         "*gpu* is leaked. i-1 runs since 19:00 (Asia/Seoul)."),
        ({"leases": (OPENING, replace(OPENING, owner="jin", gpus_expected=EIGHT + 30 * MINUTE))},
         "*gpu* is opening for minji and jin; GPUs are expected at 20:09 (Asia/Seoul)."),
        ({"leases": (OPENING, replace(OPENING, gpus_expected=None))},
         "*gpu* is opening for minji; GPUs are expected at 20:09 (Asia/Seoul)."),
        ({"leases": (replace(OPENING, gpus_expected=None), OPENING)},
         "*gpu* is open until 22:00 (Asia/Seoul) with 4 nodes, for minji."),
        ({"leases": (replace(OPENING, nodes=3, missing=1), replace(OPEN, nodes=1, closes=EIGHT + HOUR))},
         "*gpu* is open until 22:00 (Asia/Seoul) with 3 nodes, for minji."),
    ],
)  # fmt: skip
def test_a_pool_is_said_as_it_stands(more: dict[str, Any], said: str) -> None:
    assert status(replace(POOL, **more)) == [said, NO_NEXT]


def test_status_says_that_a_kind_of_pool_is_experimental() -> None:
    assert status(replace(POOL, experimental=True)) == [
        "*gpu* is closed.",
        ENGLISH.say("slack.experimental"),
        NO_NEXT,
    ]


@pytest.mark.parametrize(("in_use", "free"), [(1, 3), (0, 4)])
def test_gpus_are_counted_once_somebody_looked(in_use: int, free: int) -> None:
    seen = PoolState("gpu", seen_gpus=SeenGpus(in_use, 4, EIGHT))
    assert status(replace(POOL, leases=(OPEN,), state=seen))[1] == (
        f"GPUs: {free} free, {in_use} in use (seen at 20:00)."
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "Next: minji at 2026-11-21 20:00 (Asia/Seoul) with 2 nodes."),
        ({"window": "evening"}, "Next: evening at 2026-11-21 20:00 (Asia/Seoul) with 2 nodes."),
        ({"refused_because": "it is full until 13:00 UTC on 2026-11-21."},
         ("Next: minji at 2026-11-21 20:00 (Asia/Seoul) will not open. "
          "It is full until 2026-11-21 22:00 (Asia/Seoul).")),
    ],
)  # fmt: skip
def test_what_opens_next_is_said_by_its_window_or_its_owner(more: dict[str, Any], said: str) -> None:
    assert status(replace(POOL, next=replace(NEXT, **more))) == ["*gpu* is closed.", said]


def test_a_pause_stands_before_all_pools() -> None:
    pause = Pause("alice", EIGHT, EIGHT + HOUR, "of <exams>")
    assert status(POOL, pause) == [
        "Alice paused the lab until 21:00 (Asia/Seoul) because of &lt;exams&gt;.",
        "*gpu* is closed.",
        NO_NEXT,
    ]


FEW = PoolRecord((Opening(EIGHT - 24 * HOUR, whole=True),), SEOUL, EIGHT).outlook(EIGHT)
ADD_ONS = reason("doctor.readiness.add-ons", names=("kube-system/coredns",))
DOUBT = ReadinessFinding("add-ons", Grade.IN_DOUBT, ADD_ONS)
CHECKED = Readiness("evening-1", "gpu", "evening", "2026-11-20", EIGHT, EIGHT - 2 * HOUR, (DOUBT,))
BUDGET = BudgetView(
    "2026-11", "month", EIGHT, EIGHT + HOUR, usd(100), usd(30), usd(20), usd(0), usd(0), usd(5)
)
LAB = LabView("lab", "ap-northeast-2", SEOUL, EIGHT, BUDGET, None, (POOL,))
WINDOW = WindowView(
    "evening", "2026-11-20", "gpu", 2, "class", WindowState.OPEN, EIGHT, EIGHT + 27 * HOUR, lease="evening-1"
)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "evening, 20:00 to 2026-11-21 23:00 (Asia/Seoul): 2 on gpu, open"),
        ({"window": None, "owner": "minji (U0MINJI)", "closes": EIGHT + HOUR},
         "minji, 20:00 to 21:00 (Asia/Seoul): 2 on gpu, open"),
        ({"closes": EIGHT + HOUR, "because": "it began at 11:05 UTC on 2026-11-20"},
         "evening, 20:00 to 21:00 (Asia/Seoul): 2 on gpu, open: it began at 20:05 (Asia/Seoul)"),
        ({"closes": EIGHT + HOUR, "state": WindowState.PLANNED, "capacity": FEW},
         f"evening, 20:00 to 21:00 (Asia/Seoul): 2 on gpu, planned; capacity {FEW.said}"),
        ({"closes": EIGHT + HOUR, "state": WindowState.PLANNED, "readiness": CHECKED},
         ("evening, 20:00 to 21:00 (Asia/Seoul): 2 on gpu, planned; in doubt, checked 18:00 (Asia/Seoul): no pod is"
          " available of kube-system/coredns")),
        ({"opens": None, "state": WindowState.SKIPPED}, "evening, 2026-11-20: skipped"),
        ({"closes": None, "state": WindowState.SKIPPED, "because": "of <snow>"},
         "evening, 2026-11-20: skipped: of &lt;snow&gt;"),
    ],
)  # fmt: skip
def test_a_window_is_said_with_its_hours_or_with_its_date(more: dict[str, Any], said: str) -> None:
    assert seeing.windows(replace(LAB, windows=(replace(WINDOW, **more),)), VOICE).text == said


def test_twenty_windows_are_said_behind_the_pause() -> None:
    many = replace(LAB, windows=tuple(replace(WINDOW, window=f"w{number}") for number in range(21)))

    assert len(seeing.windows(many, VOICE).text.splitlines()) == 20
    assert seeing.windows(LAB, VOICE).text == "Nothing is planned."
    paused = seeing.windows(replace(many, pause=Pause("alice", EIGHT)), VOICE).text.splitlines()
    assert (paused[0], paused[1][:3], len(paused)) == (
        "Alice paused the lab: nothing opens until somebody resumes it.",
        "w0,",
        21,
    )


def test_leases_that_are_not_over_are_said_up_to_twenty() -> None:
    one = evening(LeaseState.OPEN, owner="minji (U0MINJI)")
    over = [evening(state) for state in (LeaseState.CLOSED, LeaseState.REFUSED)]

    assert seeing.leases([*over, one], VOICE).text == (
        "`evening-2026-11-20`: 2 on gpu, minji, 20:00 to 23:00 (Asia/Seoul), open"
    )
    assert len(seeing.leases([*over, *[one] * 21], VOICE).text.splitlines()) == 20
    assert seeing.leases(over, VOICE).text == (
        "There is no lease now or in the next 36 hours, so there are no nodes."
    )


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
