"""The laws over any history: windows, leases, accidents, lost and repeated calls, functions that die at any call.

A history is a list of steps; what is broken is told by tests/world/judge/laws.py.
"""

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.lengths import SEED
from tests.properties.histories import HISTORIES, histories
from tests.world.history import History, Step, history, play

PARTS = 20


@pytest.mark.timeout(3600)
@settings(
    max_examples=histories(12, share=100), suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
@given(st.randoms(use_true_random=False))
def test_no_history_breaks_a_law(chance: random.Random) -> None:
    told = history(chance)
    note(repr(told))
    assert play(told) == []


@pytest.mark.long
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("part", range(PARTS))
def test_none_of_thousands_breaks_a_law(part: int) -> None:
    for number in range(part, HISTORIES, PARTS):
        told = history(random.Random(f"{SEED} {number}"))
        try:
            broken = play(told)
        except Exception as error:
            error.add_note(f"history {number} of seed {SEED}: {told!r}")
            raise
        if broken:
            told = shorter(told)
            raise AssertionError(f"history {number} of seed {SEED}: {told!r}: {play(told) or broken}")


def shorter(told: History) -> History:
    """The history without the steps that it does not need to break a law."""
    for index in reversed(range(len(told.steps))):
        without = replace(told, steps=told.steps[:index] + told.steps[index + 1 :])
        if play(without):
            told = without
    return told


STORIES = {
    "a program opens, extends and closes by the name of its work, and everything comes twice": History((
        Step("ci-opens", "gpu", number=3, minutes=40), Step("wait", minutes=15),
        Step("ci-extends", "gpu", number=2, minutes=7), Step("ci-repeats", number=3),
        Step("ci-closes", "gpu", number=2), Step("ci-repeats", number=3),
    ), seed=4),
    # A close whose open was unknown ended the only other lease of its owner.
    "a close comes before its open while other work of the same program runs": History((
        Step("ci-opens", "gpu", number=2, minutes=40), Step("wait", minutes=15),
        Step("ci-reorders", "gpu", number=1, minutes=40), Step("ci-extends", "gpu", number=1, minutes=15),
        Step("ci-closes", "gpu", number=1),
    ), seed=1),
    "events come while the function that receives them is gone, and are answered late": History((
        Step("ci-opens", "gpu", number=2, minutes=40), Step("dead", "gpu", minutes=7, name="events"),
        Step("ci-reorders", "gpu", number=0, minutes=40), Step("dead", "gpu", minutes=40, name="events"),
        Step("ci-opens", "big", number=1, minutes=40), Step("dead", "gpu", minutes=90, name="lifecycle"),
    )),
    "events come while functions die between any two calls": History((
        Step("ci-opens", "gpu", number=3, minutes=40), Step("trouble", "gpu", number=3, minutes=3),
        Step("ci-reorders", "gpu", number=0, minutes=40), Step("trouble", "gpu", number=3, minutes=3),
        Step("ci-extends", "gpu", number=2, minutes=7), Step("trouble", "gpu", number=2, minutes=7),
        Step("ci-closes", "gpu", number=2), Step("trouble", "gpu", number=3, minutes=15),
    ), seed=11),
    "events come that nobody who may has put": History((
        *(Step("ci-forges", pool, number=3, minutes=15) for pool in ("gpu", "big") * 4), Step("ci-late", "gpu"),
    )),
    # The curfew ends the lease within what the source may ask, and the judge called it too long.
    "a program asks for longer than it may, just before a curfew": History((
        Step("plenty", number=3, minutes=90), Step("deploy", "big", number=1, minutes=90),
        Step("ci-forges", "gpu", number=3, minutes=15),
    ), seed=8855, variant="curfew"),
    "nodes of a dear type start under a lease, by their controller and by hand": History((
        Step("dearer", "gpu", number=2, minutes=7), Step("open", "gpu", number=2, minutes=60),
        Step("wait", minutes=15), Step("dearer", "gpu", number=1, minutes=3), Step("wait", minutes=40),
    ), seed=1),
    "a deploy changes the price of a pool before a lease opens that was granted ahead": History((
        Step("ahead", "gpu", number=1, minutes=40), Step("wait", minutes=3),
        Step("price", "gpu", number=2, minutes=15), Step("wait", minutes=90),
    ), seed=1),
    # Its group remembers that it ran, and EC2 no longer says what it was.
    "a node of a dear type ends hours before its lease": History((
        Step("dearer", "big", number=0, minutes=3), Step("open", "big", number=1, minutes=90),
        *(Step("wait", minutes=90),) * 2,
    ), seed=1),
    # Both leases counted the pool's one missing node as theirs, and both freed money for it.
    "two leases of one node each on a pool that gets one node": History((
        Step("scarce", number=1, minutes=1), Step("open", "gpu", number=1, minutes=60),
        Step("open", "gpu", number=0, minutes=45), Step("wait", minutes=40), Step("plenty", minutes=40),
        Step("wait", minutes=40),
    ), seed=3),
    "a lease of three nodes gets one, then two, and another one comes": History((
        Step("scarce", number=1, minutes=1), Step("open", "gpu", number=2, minutes=90),
        Step("wait", minutes=15), Step("scarce", number=2, minutes=7),
        Step("open", "gpu", number=0, minutes=45), Step("wait", minutes=40),
        Step("scarce", number=0, minutes=7), Step("wait", minutes=40), Step("plenty", minutes=90),
    ), seed=4),
    # The close ended a node with people's work before the node that never had any.
    "a lease ends of two on a pool where people work on some nodes": History((
        *(Step("wait", minutes=1),) * 5, Step("wait", minutes=90), Step("wait", minutes=90),
        Step("extend", minutes=1), Step("working", minutes=1), Step("wait", minutes=1), Step("wait", minutes=1),
        Step("wait", minutes=90),
    ), seed=2, variant="settings"),
    # Auto Scaling chose the oldest node, with people's work on it, while the surplus node was still booting.
    "somebody raises a leased pool on which people work": History((
        Step("open", "gpu", number=1, minutes=60), Step("wait", minutes=15), Step("working", "gpu", minutes=15),
        Step("by-hand", "gpu", number=3, minutes=15),
    )),
    # The step that ends a lease failed at every try, and the guard of a watched pool only reported it.
    "a lease ends on a watched pool while nothing can end it": History((
        Step("open", "gpu", number=1, minutes=15), Step("wait", minutes=7),
        Step("dead", "gpu", minutes=40, name="leases"),
    ), variant="watch"),
    "a person extends for longer than any lease may last": History(
        (Step("open", "gpu", number=1, minutes=90), Step("extend", "gpu", minutes=40))
    ),
    "a person opens, extends, closes": History((
        Step("open", "gpu", number=2, minutes=60), Step("extend", "gpu", minutes=60), Step("wait", minutes=90),
        Step("close", "gpu", number=0),
    )),
    # EKS refused the failsafe's first call, and Scheduler retried it until it took a node of the next lease.
    "a lease opens while the last one's failsafe is still being tried": History((
        Step("wait", minutes=360), Step("stuck-update", "gpu", minutes=42, name="meanwhile"),
        Step("wait", minutes=41), Step("open", "gpu", number=1, minutes=30),
    )),
    # A node ended long after somebody had lowered the pool.
    "somebody takes a leased node, which ends late": History((
        Step("wait", minutes=200), Step("working", "gpu", minutes=7),
        Step("by-hand", "gpu", number=1, minutes=3), Step("immortal", "gpu", minutes=15),
    ), variant="watch"),
    # There is time between two windows, and a long drain ends just as the second window begins.
    "a drain lasts until just before the next window": History((
        Step("events-lost", minutes=15), Step("working", "gpu", minutes=1), Step("stubborn", minutes=90),
        Step("wait", minutes=40),
    ), seed=1046, variant="spring"),
    # The planner ran at that very instant, and deleted the schedule that was about to run.
    "the planner looks as a lease for later is about to open": History(
        (Step("ahead", "gpu", number=0, minutes=15), Step("deploy", "gpu", number=0, minutes=40)),
        seed=5006,
        variant="spring",
    ),
    # The close of the first lease failed; the close of the second settled both, and wrote one receipt.
    "two leases end while no machine can be ended": History(
        (Step("broken", "big", minutes=15), Step("immortal", "gpu", number=3, minutes=90)),
        seed=9466,
        variant="spring",
    ),
    # The guard put back a minimum, and EKS also wrote the desired size that it had kept.
    "somebody raises sizes at EKS while nothing can be ended": History((
        Step("open", "gpu", number=2, minutes=15), Step("immortal", "gpu", number=2, minutes=90),
        Step("by-hand", "gpu", number=2, minutes=7),
    ), seed=3159),
    # A price in another currency stopped every sweep, and another pool ran on without a lease.
    "a lease cannot be read while nodes start on another pool": History((
        Step("open", "gpu", number=1, minutes=60), Step("ill", "gpu", minutes=7),
        Step("by-hand", "big", number=1, minutes=40),
    ), seed=1),
    # A person with a limit of two nodes got three for others: the check counted leases, and none was granted yet.
    "somebody says yes twice before the lab has decided once": History((
        Step("asks", "gpu", number=1, minutes=15), Step("asks", "gpu", number=2, minutes=15),
        Step("says-yes", "gpu", number=1),
    ), seed=2, variant="watch"),
    # Nodes between a window's opening and its grant belonged to the lease before it.
    "a window is granted late, and the nodes of the one before still run": History((
        Step("wait", minutes=297), Step("working", "gpu", minutes=1),
        Step("dead", "gpu", minutes=7, name="leases"), Step("wait", minutes=90),
    )),
    "somebody starts a machine beside a group whose lease misses nodes": History((
        Step("scarce", number=1, minutes=1), Step("open", "gpu", number=2, minutes=60),
        Step("stray", "gpu", minutes=1), Step("immortal", minutes=40),
    )),
    "somebody takes the nodes of one lease as another one closes": History((
        Step("open", "gpu", number=2, minutes=60), Step("open", "gpu", number=0, minutes=45),
        Step("by-hand", "gpu", number=0, minutes=0), Step("close", "gpu", number=1),
    )),
    # One of three nodes had to stay, and the group had only two: the drain evicted people from both.
    "a lease ends while a machine beside the group is a node": History((
        Step("stray", "gpu", minutes=7), Step("open", "gpu", number=1, minutes=60),
        Step("open", "gpu", number=0, minutes=45), Step("wait", minutes=7), Step("working", "gpu", minutes=1),
        Step("close", "gpu", number=1),
    ), variant="watch"),
    # Somebody was removing two of three nodes; the lease that ended emptied the third one as well.
    "a lease ends while somebody takes the nodes of another": History((
        Step("open", "gpu", number=2, minutes=60), Step("open", "gpu", number=0, minutes=15),
        Step("wait", minutes=7), Step("working", "gpu", minutes=1), Step("by-hand", "gpu", number=1, minutes=8),
        Step("close", "gpu", number=1),
    )),
    # The pause had deleted its schedule, and a lease due within a minute gets none: the guard found it.
    "a pause ends a minute before a lease begins": History((
        Step("ahead", "gpu", number=3, minutes=15), Step("taken-back", "big", number=2, minutes=7),
        Step("pause", "gpu", number=0, minutes=7),
    ), seed=7388),
    # EKS drains for 15 minutes a node that somebody removed by hand, while a window gets its own nodes.
    "somebody takes a node on which people work just as a window opens": History((
        Step("dead", "big", number=3, minutes=40, name="leases"), Step("broken", "gpu", minutes=3),
        Step("deploy", "gpu", minutes=1), Step("wait", minutes=15), Step("ahead", "gpu", number=1, minutes=15),
        Step("working", "gpu", number=2, minutes=40), Step("asks", "big", number=1, minutes=15),
        Step("by-hand", "gpu", minutes=90), Step("open", "gpu", minutes=3),
    ), seed=5029, variant="spring"),
    "nodes start without a lease, and nobody hears of it": History(
        (Step("events-lost", minutes=1), Step("by-hand", "gpu", number=3, minutes=40))
    ),
    "a lease ends while the API server does not answer, and nobody can see its nodes": History((
        Step("open", "gpu", number=2, minutes=15), Step("wait", minutes=7), Step("silent", "gpu", minutes=40),
    )),
    # Neither the group nor Kubernetes had it yet, so only EC2 spoke against zero.
    "somebody starts a machine beside a group whose lease is being closed": History((
        Step("open", "gpu", number=1, minutes=60), Step("wait", minutes=7), Step("stray", "gpu", minutes=0),
        Step("close", "gpu", number=1),
    ), seed=4),
    "a program asks for more time, and its entry may only open and close": History((
        Step("ci-opens", "gpu", number=2, minutes=40), Step("wait", minutes=15),
        Step("ci-extends", "gpu", number=2, minutes=7),
    ), seed=5),
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_a_story_breaks_no_law(story: History) -> None:
    assert play(story) == []
