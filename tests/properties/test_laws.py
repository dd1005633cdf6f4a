"""The laws over any history: windows, leases, accidents, lost and repeated calls, deaths between any two of them.

A history is a list of steps; what is broken is told by tests/world/laws.py. LAMPLIGHTER_EXAMPLES asks for more
histories than `make test` tries.
"""

import os
import random
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.world.history import History, Play, Step, history, play
from tests.world.labs import LAB, START
from tests.world.world import World

EXAMPLES = int(os.environ.get("LAMPLIGHTER_EXAMPLES", "120"))


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="LAMPLIGHTER_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
@given(st.randoms(use_true_random=False))
def test_no_history_breaks_a_law(chance: random.Random) -> None:
    told = history(chance)
    note(repr(told))
    assert play(told) == []


@pytest.mark.xfail(reason="EKS knows no condition: CloudFormation writes the size that it read", strict=True)
def test_a_deploy_that_read_a_size_moments_before_it_was_raised_takes_no_node() -> None:
    world = World(LAB, START)
    played = Play(world, 0)
    with world:
        played.step(Step("open", "gpu", number=1, minutes=60))
        world.run(timedelta(minutes=20))
        read = world.desired_size("gpu")
        played.step(Step("open", "gpu", number=2, minutes=60))
        world.run(timedelta(minutes=1))
        world.set_by_deploy("gpu", read)
        played.settle()

    assert played.laws.broken == []


STORIES = {
    # Auto Scaling chose the oldest node, on which people worked, while the surplus was still booting.
    "somebody raises a leased pool on which people work": History(
        (
            Step("open", "gpu", number=1, minutes=60),
            Step("wait", minutes=15),
            Step("working", "gpu", minutes=15),
            Step("by-hand", "gpu", number=3, minutes=15),
        )
    ),
    # The step that ends a lease failed for good, and the guard of a watched pool only spoke of it.
    "a lease ends on a watched pool while nothing can end it": History(
        (
            Step("open", "gpu", number=1, minutes=15),
            Step("wait", minutes=7),
            Step("dead", "gpu", minutes=40, name="leases"),
        ),
        variant="watch",
    ),
    "a person extends for longer than any lease may last": History(
        (Step("open", "gpu", number=1, minutes=90), Step("extend", "gpu", minutes=40))
    ),
    "a person opens, extends, closes": History(
        (
            Step("open", "gpu", number=2, minutes=60),
            Step("extend", "gpu", minutes=60),
            Step("wait", minutes=90),
            Step("close", "gpu", number=0),
        )
    ),
    "nodes start without a lease, and nobody hears of it": History(
        (Step("events-lost", minutes=1), Step("by-hand", "gpu", number=3, minutes=40))
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_a_story_breaks_no_law(story: History) -> None:
    assert play(story) == []
