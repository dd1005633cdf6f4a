"""Any one invocation of any function dies in a window: the window still ends closed and the laws hold."""

import os
import random
from datetime import timedelta

import pytest

from lamplighter.domain.lease import LeaseState
from tests.scenarios.lab_day import LabDay

#: Which invocation dies, and when in its life; another number tries others.
SEED = os.environ.get("LAMPLIGHTER_SEED", "20261201")
#: How many invocations of a function every window has at least, by the steps and schedules that ask it.
FEWEST = {"leases": 6, "planner": 1, "nodegroups": 3, "cluster": 4, "guard": 4, "notices": 3}
#: An invocation dies after so many AWS calls; None: when all is done and only the answer is lost.
LIVES = (1, 2, 3, 5, None)
FAILSAFE_AFTER = timedelta(minutes=10)


@pytest.mark.parametrize(
    ("function", "window"),
    [
        ("leases", "first"),
        ("planner", "second"),  # its hour is in this window
        ("nodegroups", "third"),
        ("cluster", "fourth"),
        ("guard", "fifth"),
        ("notices", "sixth"),
    ],
)
def test_a_window_ends_closed_though_an_invocation_dies(lab: LabDay, function: str, window: str) -> None:
    # given a window ahead, and an invocation of the function that will die in it
    planned = lab.lease(f"{window}-2026-12-01")
    lab.pass_until(planned.opens - timedelta(minutes=1))
    begun = lab.now
    chance = random.Random(f"{SEED}-{function}")
    nth, after_calls = chance.randint(1, FEWEST[function]), chance.choice(LIVES)
    told = f"invocation {nth} of {function} dies after {after_calls} calls"
    physical = f"{lab.lab.name}-{function}"
    lab.cloud.faults.kill_invocation(physical, nth, after_calls)
    killed = len(lab.cloud.faults.killed)

    # when the window's time comes and goes
    closed = lab.until_state(planned.id, LeaseState.CLOSED, within=timedelta(hours=1))
    end = lab.until_quiet(within=timedelta(minutes=30))

    # then it was killed, and all the same the lease is closed, proven, paid for and has its receipt
    assert lab.cloud.faults.killed[killed:] == [physical], told
    assert lab.receipt(planned.id)["proof_of_zero"]["instances"] == [], told
    assert closed.closed is not None, told
    # and no node was there past the failsafe, which is put away
    late = [s for s in lab.samples if s.at >= planned.closes + FAILSAFE_AFTER and s.instances]
    assert not late, f"{told}: {late[0]}"
    assert end.failsafe == (), told
    # and the laws held
    for verdict in lab.verdicts(begun, 1, 2, 5, 7, 8).values():
        assert verdict.held, f"{told}: law {verdict.law}: {verdict.evidence}"
    assert max(float(sample.committed) for sample in lab.samples) <= float(lab.lab.guard.budget.amount)
