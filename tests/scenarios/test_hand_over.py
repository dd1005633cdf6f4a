"""A window that begins where another ends takes its nodes over: they are kept, not bounced."""

from datetime import timedelta

from lamplighter.domain.lease import LeaseState
from tests.scenarios.lab_day import LabDay, lost


def test_nodes_are_handed_over_at_the_boundary_of_two_windows(lab: LabDay) -> None:
    # given a window of one node, and one of two nodes that begins at its end
    early, late = lab.lease("early-2026-12-01"), lab.lease("late-2026-12-01")
    assert early.closes == late.opens
    lab.pass_until(early.opens - timedelta(minutes=1))
    lab.until_state(early.id, LeaseState.OPEN)
    running = lab.live()
    begun = len(lab.samples)

    # when the boundary passes
    lab.until_state(early.id, LeaseState.CLOSED)
    lab.until_state(late.id, LeaseState.OPEN)

    # then the first node was there all the time, and a second one came
    assert lost(lab.samples[begun:], running) == []
    assert len(lab.live()) == 2
    assert min(lab.look().failsafe) == late.closes + timedelta(minutes=10)

    # and both end with the later window, each lease with its own receipt
    lab.until_state(late.id, LeaseState.CLOSED)
    lab.until_quiet()
    assert lab.receipt(early.id)["nodes"] == 1
    assert lab.receipt(late.id)["proof_of_zero"]["instances"] == []
