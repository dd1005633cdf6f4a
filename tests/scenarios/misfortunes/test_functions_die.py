"""One invocation of any function dies in a window. The window still ends closed, and the laws hold."""

import os
import random
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import pytest

from local.aws.faults import Faults
from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story

#: Which invocation dies, and when in its life; another seed tries others.
SEED = os.environ.get("LAMPLIGHTER_SEED", "20261201")
#: How many invocations each window has at least, by function, from the steps and schedules that call it.
FEWEST = {"leases": 6, "planner": 1, "nodegroups": 3, "cluster": 4, "guard": 4, "notices": 3}
#: These functions run for all pools at once, the others for one pool at a time.
FOR_ALL = ("planner", "guard")
#: An invocation dies after this many AWS calls; None: all its work is done and only the answer is lost.
LIVES = (1, 2, 3, 5, None)
FAILSAFE_AFTER = timedelta(minutes=10)


@pytest.mark.long
@story("mortal-a")
def test_windows_end_closed_though_the_leases_and_the_nodegroups_function_die(pool: Pool) -> Story:
    yield from died(pool, (("a-first", "leases"), ("a-second", "nodegroups")))


@pytest.mark.long
@story("mortal-b")
def test_windows_end_closed_though_the_cluster_function_and_the_planner_die(pool: Pool) -> Story:
    yield from died(pool, (("b-first", "cluster"), ("b-second", "planner")))  # its hour is in that window


@pytest.mark.long
@story("mortal-c")
def test_windows_end_closed_though_the_notices_function_and_the_guard_die(pool: Pool) -> Story:
    yield from died(pool, (("c-first", "notices"), ("c-second", "guard")))


def died(pool: Pool, windows: Sequence[tuple[str, str]]) -> Story:
    faults = pool.day.cloud.faults
    for window, function in windows:
        # given a window ahead, and an invocation of the function that will die in it
        lease = pool.lease(f"{window}-2026-12-01")
        yield pool.reached(lease.opens - timedelta(minutes=2))
        chance = random.Random(f"{SEED}-{function}")
        nth, after_calls = chance.randint(1, FEWEST[function]), chance.choice(LIVES)
        physical = f"{pool.day.cloud.lab.name}-{function}"
        told = f"invocation {nth} of {function} dies after {after_calls} calls"
        killed = faults.killed.count(physical)
        faults.kill_invocation(physical, nth, after_calls, None if function in FOR_ALL else pool.name)

        # when the window's time comes and goes, and it is killed
        yield pool.closed(lease)
        yield pool.zero()
        yield pool.until(told, partial(killed_again, faults, physical, killed))

        # then all the same the lease is closed, proven, paid for and has its receipt
        assert pool.receipt(lease.id)["proof_of_zero"]["instances"] == [], told
        # and no node was there past the failsafe, which is put away
        late = [s for s in pool.samples if lease.closes + FAILSAFE_AFTER <= s.at <= pool.now and s.instances]
        assert not late, f"{told}: {late[0]}"
    # and the laws held
    pool.verdicts(1, 5, 7, 8)
    pool.failsafe_stood()
    pool.within_budget()


def killed_again(faults: Faults, function: str, before: int) -> bool:
    return faults.killed.count(function) > before
