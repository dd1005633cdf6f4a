"""The plan of a deployed lab at the edges of its range."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.planner.live import Deployed, live
from lamplighter.domain.planner.simulation import Simulation
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, HOUR, SECOND
from tests.unit.planner.test_live import ALICES, LAB

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


def played(
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
    assert seen(played(one, begins=EIGHT + begins, ends=EIGHT + ends)) == meets


def test_a_pause_past_the_range_leaves_nothing_in_it() -> None:
    pause = Pause("bob", EIGHT, EIGHT + 2 * HOUR)
    assert seen(played(EVENING, ends=EIGHT + 2 * HOUR, pauses=(pause,))) == 0
    assert seen(played(EVENING, ends=EIGHT + 2 * HOUR + SECOND, pauses=(pause,))) == 1


@pytest.mark.parametrize(
    ("after", "openings"), [(-SECOND, ["2026-11-20", "2026-11-21"]), (0 * SECOND, ["2026-11-21"])]
)
def test_a_window_that_the_curfew_ended_is_not_ahead(after: timedelta, openings: list[str]) -> None:
    curfew = Lab.model_validate({**PLAIN, "guard": {"curfew": "22:00"}, "windows": [DAILY]})
    found = played(lab=curfew, ends=EIGHT + 26 * HOUR, now=EIGHT + 2 * HOUR + after)
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

    found = played(later, replace(later, id="x", state=LeaseState.REFUSED), *by_order, *alike)

    assert [one.window for one in found.windows] == ["c", "d", "evening"]
    assert [(one.window, one.date.day) for one in found.skipped] == [("a", 20), ("b", 20), ("evening", 21)]


def test_the_range_may_lie_in_the_past() -> None:
    past = datetime(2026, 11, 18, 20, tzinfo=UTC)
    assert seen(played(lab=LAB, begins=past, ends=past + 24 * HOUR)) == 0
