"""The planner does not run for a day, and no sweep runs either: planned windows still open and close by themselves."""

from datetime import timedelta

import pytest

from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

TOMORROW, OVERMORROW = "tomorrow-2026-12-02", "overmorrow-2026-12-03"


def test_a_window_opens_and_closes_though_nobody_planned_or_swept_for_a_day(lab: LabDay) -> None:
    # given a window planned for tomorrow, and one too far ahead to be planned yet
    planned, begun = lab.lease(TOMORROW), lab.now
    assert planned.state is LeaseState.PLANNED
    assert lab.ledger.lease("gpu", OVERMORROW) is None

    # when every planner dies, nobody sweeps, and almost a day passes
    planner, sweep = f"{lab.lab.name}-planner", f"{lab.lab.name}-sweep"
    lab.cloud.faults.die(planner)
    lab.api("events").disable_rule(Name=sweep)
    lab.pass_until(planned.opens - timedelta(minutes=1))
    assert lab.now - begun > timedelta(hours=22)

    # then the window opens at its time, behind its failsafe
    opened = lab.until_state(planned.id, LeaseState.OPEN)
    assert opened.ready is not None
    assert opened.ready - planned.opens < timedelta(minutes=15)
    assert min(lab.look().failsafe) == planned.closes + timedelta(minutes=10)

    # and it closes at its end, proven
    lab.until_state(planned.id, LeaseState.CLOSED, within=timedelta(minutes=45))
    end = lab.until_quiet()
    assert lab.receipt(planned.id)["proof_of_zero"]["instances"] == []
    assert end.failsafe == ()
    for verdict in lab.verdicts(begun, 2, 5, 7, 8).values():
        assert verdict.held, f"law {verdict.law}: {verdict.evidence}"

    # when the planner lives again, then what is ahead is planned within its hour
    lab.cloud.faults.revive(planner)
    lab.api("events").enable_rule(Name=sweep)
    ahead = lambda _: lab.ledger.lease("gpu", OVERMORROW) is not None  # noqa: E731
    lab.until("what is ahead is planned", ahead, timedelta(hours=1, minutes=5))
    assert lab.lease(OVERMORROW).state is LeaseState.PLANNED
