"""The plan of a deployed lab: what people and the ledger say about its calendar, to the edges of its range."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Pause, Skip
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.planner.live import Deployed, live
from lamplighter.domain.planner.simulation import Simulation, simulate
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT, HOUR, SECOND, persons, usd

LAB = Lab.model_validate(
    {
        "name": "lab",
        "time_zone": "UTC",
        "pools": {"gpu": {"max_nodes": 2, "price_per_hour": "1"}},
        "guard": {"budget": {"amount": "20"}},
        "windows": [{"name": "evening", "days": "daily", "start": "21:00", "end": "23:00"}],
    }
)
ALICES = persons(
    opens=12 * 60,
    closes=14 * 60,
    nodes=1,
    hold=usd(2),
    by="alice",
    because="of the exam",
    state=LeaseState.ADMITTED,
)
FULL = reason(
    "lease.pool-full", pool="gpu", at="21:00", leases="alice's lease (1)", nodes=2, wanted=3, most=2
)


def played(
    *leases: Lease, skips: tuple[Skip, ...] = (), pauses: tuple[Pause, ...] = (), spent: str = "0"
) -> Simulation:
    deployed = Deployed(LAB, {"gpu": terms(LAB, "gpu")}, leases, skips, pauses)
    budget = BudgetPeriod("2026-11", Money.of(0, "USD"), Money.of(Decimal(spent), "USD"))
    return live(deployed, {"2026-11": budget}, EIGHT, EIGHT + 48 * HOUR, EIGHT)


def test_without_changes_and_leases_it_is_the_simulation_of_the_lab() -> None:
    assert played().to_json() == simulate(LAB, EIGHT, EIGHT + 48 * HOUR).to_json()


def test_a_skip_is_an_exception_with_who_and_why() -> None:
    document = played(skips=(Skip("evening", "2026-11-21", "bob", EIGHT, "of the holiday"),)).to_json()

    assert document["skipped"] == [
        {
            "window": "evening",
            "pool": "gpu",
            "date": "2026-11-21",
            "code": "excepted",
            "reason": "bob skipped evening on 2026-11-21 because of the holiday",
        }
    ]


def test_a_lease_granted_ahead_is_shown_and_counted() -> None:
    simulation = played(ALICES)

    assert [(one.window, one.notes) for one in simulation.windows][1] == (
        "cli-1",
        (
            reason(
                "calendar.because",
                what=reason("calendar.of-person", owner="alice", by="alice"),
                because="of the exam",
            ),
        ),
    )
    assert simulation.costs[0].node_seconds == 2 * 2 * 2 * 3600 + 2 * 3600


def test_a_pause_makes_windows_late_or_keeps_them_closed() -> None:
    until_ten = Pause("bob", EIGHT, EIGHT + 2 * HOUR)
    endless = Pause("bob", EIGHT, None, "of the driver")
    late = played(pauses=(until_ten,))
    closed = played(ALICES, pauses=(endless,))

    assert late.windows[0].opens == EIGHT + 2 * HOUR
    assert late.windows[0].notes == (reason("calendar.opens-late", why=until_ten.reason()),)
    assert closed.windows == []
    assert {one.reason for one in closed.skipped} == {endless.reason()}


def test_what_is_spent_counts_against_what_is_still_ahead() -> None:
    simulation = played(spent="15")

    assert [one.date.isoformat() for one in simulation.windows] == ["2026-11-20"]
    budget = reason("money.budget", limit="20.00 USD", per=reason("money.per.month"))
    assert [(one.code, one.reason) for one in simulation.skipped] == [
        ("over-budget", reason("money.over-budget", cost="4.00 USD", budget=budget, period="2026-11"))
    ]


def test_what_was_decided_stands_as_it_was_decided() -> None:
    window = replace(
        ALICES,
        id="evening-2026-11-20",
        window="evening",
        date="2026-11-20",
        opens=EIGHT + HOUR,
        closes=EIGHT + 4 * HOUR,
        because=None,
        nodes=2,
    )
    refused = replace(
        window,
        id="evening-2026-11-21",
        date="2026-11-21",
        state=LeaseState.REFUSED,
        opens=EIGHT + 25 * HOUR,
        closes=EIGHT + 27 * HOUR,
        because=FULL,
    )

    simulation = played(window, refused)

    assert [(one.window, one.closes) for one in simulation.windows] == [("evening", EIGHT + 4 * HOUR)]
    assert [(one.code, one.reason) for one in simulation.skipped] == [("pool-full", FULL)]


DAILY = {"name": "evening", "days": "daily", "start": "21:00", "end": "23:00"}
EMPTY = LAB.model_copy(update={"windows": []})
PLAIN: dict[str, Any] = {
    "name": "lab",
    "time_zone": "UTC",
    "pools": {"gpu": {"max_nodes": 2, "price_per_hour": "1"}},
}
EVENING = replace(
    ALICES,
    id="evening-2026-11-20-ab12",
    owner="class",
    source="window",
    opens=EIGHT + HOUR,
    closes=EIGHT + 3 * HOUR,
    window="evening",
    date="2026-11-20",
    by=None,
    because=None,
    order=3,
)


def within(
    *leases: Lease,
    lab: Lab = EMPTY,
    begins: datetime = EIGHT,
    ends: datetime = EIGHT + 24 * HOUR,
    now: datetime = EIGHT,
    **more: Any,
) -> Simulation:
    deployed = Deployed(lab, {"gpu": terms(lab, "gpu")}, leases, **more)
    budget = BudgetPeriod("2026-11", Money.of(0, "USD"), Money.of(0, "USD"))
    return live(deployed, {"2026-11": budget}, begins, ends, now)


def seen(simulation: Simulation) -> int:
    return len(simulation.windows) + len(simulation.skipped)


@pytest.mark.parametrize("state", [LeaseState.ADMITTED, LeaseState.CLOSED, LeaseState.REFUSED])
@pytest.mark.parametrize(
    ("begins", "ends", "meets"),
    [
        (-HOUR, HOUR, 0),
        (-HOUR, HOUR + SECOND, 1),
        (3 * HOUR - SECOND, 9 * HOUR, 1),
        (3 * HOUR, 9 * HOUR, 0),
        (HOUR, 3 * HOUR, 1),
    ],
)
def test_decisions_in_range_are_told(
    begins: timedelta, ends: timedelta, meets: int, state: LeaseState
) -> None:
    one = replace(EVENING, state=state)
    assert seen(within(one, begins=EIGHT + begins, ends=EIGHT + ends)) == meets


def test_a_pause_past_the_range_leaves_nothing_in_it() -> None:
    pause = Pause("bob", EIGHT, EIGHT + 2 * HOUR)
    assert seen(within(EVENING, ends=EIGHT + 2 * HOUR, pauses=(pause,))) == 0
    assert seen(within(EVENING, ends=EIGHT + 2 * HOUR + SECOND, pauses=(pause,))) == 1


@pytest.mark.parametrize(
    ("after", "openings"), [(-SECOND, ["2026-11-20", "2026-11-21"]), (0 * SECOND, ["2026-11-21"])]
)
def test_a_window_that_the_curfew_ended_is_not_ahead(after: timedelta, openings: list[str]) -> None:
    curfew = Lab.model_validate({**PLAIN, "guard": {"curfew": "22:00"}, "windows": [DAILY]})
    found = within(lab=curfew, ends=EIGHT + 26 * HOUR, now=EIGHT + 2 * HOUR + after)
    assert [window.date.isoformat() for window in found.windows] == openings


def test_what_happens_and_what_does_not_come_in_the_order_of_time() -> None:
    later = replace(
        EVENING, id="evening-2026-11-21", date="2026-11-21", opens=EIGHT + 4 * HOUR, closes=EIGHT + 5 * HOUR
    )
    by_order = [
        replace(EVENING, id=name, window=name, state=LeaseState.REFUSED, order=order)
        for name, order in (("b", 2), ("a", 1))
    ]
    alike = [replace(EVENING, id=name, window=name) for name in ("d", "c")]

    found = within(later, replace(later, id="x", state=LeaseState.REFUSED), *by_order, *alike)

    assert [one.window for one in found.windows] == ["c", "d", "evening"]
    assert [(one.window, one.date.day) for one in found.skipped] == [("a", 20), ("b", 20), ("evening", 21)]


def test_the_range_may_lie_in_the_past() -> None:
    past = datetime(2026, 11, 18, 20, tzinfo=UTC)
    assert seen(within(lab=LAB, begins=past, ends=past + 24 * HOUR)) == 0
