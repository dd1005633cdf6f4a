"""A window begins where another ends, and the close of the first one crashes on the way."""

from datetime import timedelta

import pytest

from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story

#: The number of times that the workflow tries a failing step.
TRIES = 6


@pytest.mark.long
@story("boundary")
def test_a_hand_over_keeps_the_nodes_though_its_first_close_crashes(pool: Pool) -> Story:
    # given a window of one node, one of two nodes that begins at its end, and a close that dies half-way
    early, late = pool.lease("early-2026-12-01"), pool.lease("late-2026-12-01")
    assert early.closes == late.opens
    yield pool.opened(early)
    (running,) = pool.seen.instances
    faults, begun = pool.day.cloud.faults, pool.now
    faults.kill_step("RestoreExperiments", pool.name, times=TRIES, after_calls=2)

    # when the boundary passes, then the first node is there all the time, and a second one comes
    yield pool.opened(late, minutes=60)
    yield pool.until("the second node is there", lambda: len(pool.seen.instances) == 2, minutes=20)
    assert all(running in sample.instances for sample in pool.since(begun))
    assert pool.seen.failsafe == (late.closes + timedelta(minutes=10),)
    # and the early window was closed by somebody, with a receipt of its own
    yield pool.closed(early)
    assert pool.receipt(early.id)["nodes"] == 1

    # and all ends with the later window
    assert all(running in sample.instances for sample in pool.since(begun) if sample.at < late.closes)
    yield pool.closed(late)
    yield pool.zero()
    assert pool.receipt(late.id)["proof_of_zero"]["instances"] == []
    pool.verdicts(1, 5, 8)
    pool.failsafe_stood()
