"""The laws where pools are NodePools: what happens to their controller, bar, lock and claims, and the failsafe alone.

test_laws.py draws a kind for each pool of a history. Here are stories, and what no history leaves to a failsafe alone.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.properties.laws.test_laws import STORIES
from tests.world.capacity.pools import Pools
from tests.world.history import FUNCTIONS, OF_NODE_POOLS, History, Play, Step, play
from tests.world.labs import FIRST_SWEEP, LAB, START, of_kinds
from tests.world.people import BOSS, ask
from tests.world.world import World

KARPENTER, AUTO_MODE = ("karpenter", "karpenter"), ("auto-mode", "auto-mode")
NODE_POOL_STORIES = {
    "Karpenter is killed in a lease, and stays dead past its end": History((
        Step("open", "gpu", number=2, minutes=20), Step("wait", minutes=15),
        Step("karpenter-dies", "gpu", number=3, minutes=90), Step("wait", minutes=40),
    ), kinds=KARPENTER),
    "somebody deletes the claim of a leased node while Karpenter is dead, and the guard ends its instance": History((
        Step("late", "gpu", number=0, minutes=90), Step("late", "gpu", number=3, minutes=15),
        Step("karpenter-dies", "gpu", number=2, minutes=40), Step("claim-by-hand", "big", number=1, minutes=1),
    ), seed=2315, kinds=("auto-mode", "karpenter")),
    # The judge said that the end of a lease's node was taken from another lease, which began to try anew meanwhile.
    "a lease of two ends while Karpenter is dead, and the other asks for its nodes again": History((
        Step("open", "gpu", minutes=40), Step("ci-opens", "gpu", number=3, minutes=90),
        Step("open", "big", minutes=90), Step("karpenter-dies", "gpu", minutes=90),
        Step("meddles", "gpu", minutes=90), Step("trouble", "big", number=3, minutes=1, name="events"),
        Step("says-yes", "gpu", number=3, minutes=40),
    ), seed=2836, variant="curfew", kinds=("karpenter", "node-group")),
    # Nothing but EC2 remembers when a node of a NodePool ended: the judge called the upper bound too much.
    "nobody looks for longer than EC2 remembers the end of a node": History((
        Step("garbled", number=3, minutes=90), Step("wait", minutes=7),
        Step("tight", "gpu", number=1, minutes=7), Step("dead", "gpu", number=2, minutes=90, name="guard"),
    ), seed=2861, variant="spring", kinds=("karpenter", "auto-mode")),
    # The judge wanted the node-seconds of a node that no sweep saw and that EC2 had forgotten.
    "the guard is dead from before a lease until EC2 has forgotten its node": History((
        Step("wait", "gpu", number=0, minutes=90), Step("shut-out", "gpu", number=1, minutes=1),
        Step("wait", "gpu", number=2, minutes=15), Step("dead", "gpu", number=3, minutes=90, name="guard"),
    ), seed=8265, variant="autumn", kinds=("karpenter", "auto-mode")),
    # The judge took a planned lease that was taken back for the end of the lease that had failed long before.
    "a lease fails while the API is silent, and planned ones are taken back before the bar is moved": History((
        Step("garbled", "gpu", number=0, minutes=15), Step("ci-forges", "gpu", number=2, minutes=3),
        Step("silent", "gpu", number=1, minutes=15),
    ), seed=5843, variant="spring", kinds=("karpenter", "karpenter")),
    "the failsafe's lock is left on at the next opening": History((
        Step("locked", "gpu", number=1, minutes=7), Step("open", "gpu", number=2, minutes=40),
        Step("wait", minutes=40),
    ), kinds=KARPENTER),
    "somebody scales a NodePool in the time that a closed lease had left": History((
        Step("open", "gpu", number=1, minutes=60), Step("wait", minutes=15), Step("close", "gpu", number=1),
        Step("wait", minutes=15), Step("by-hand", "gpu", number=3, minutes=15),
    ), kinds=KARPENTER),
    "a lease ends of two on a NodePool where people work on the oldest node": History((
        Step("open", "gpu", number=1, minutes=60), Step("wait", minutes=7), Step("working", "gpu", minutes=1),
        Step("open", "gpu", number=0, minutes=40), Step("wait", minutes=15), Step("close", "gpu", number=1),
        Step("wait", minutes=15),
    ), kinds=KARPENTER),
    # The guard saw all nodes in EC2 alone, and ended the oldest: it was the one of the lease that went on.
    "one of two leases ends while the API server is silent, and people work on the oldest node": History((
        Step("open", "gpu", number=1, minutes=60), Step("working", "gpu", minutes=1),
        Step("open", "gpu", number=2, minutes=15), Step("wait", minutes=7), Step("silent", "gpu", minutes=90),
    ), kinds=KARPENTER),
    # Karpenter put others in the place of the nodes that the guard ended, which ended those every three minutes.
    "one of two leases ends while the API server answers Karpenter alone": History((
        Step("open", "gpu", number=1, minutes=60), Step("working", "gpu", minutes=1),
        Step("open", "gpu", number=2, minutes=15), Step("wait", minutes=7),
        Step("shut-out", "gpu", number=3, minutes=90), Step("wait", minutes=90),
    ), kinds=KARPENTER),
    "pods that want no disruption run on every node as the lease ends": History((
        Step("open", "gpu", number=2, minutes=15), Step("wait", minutes=7),
        Step("guarded", "gpu", number=1, minutes=1), Step("wait", minutes=40),
    ), kinds=AUTO_MODE),
    # The meter counted a node that never joined until an hour before the next count: only its claim had named it.
    "the API server does not answer while a lease opens, and its node is ended in EC2": History((
        Step("open", "gpu", number=1, minutes=40), Step("garbled", "gpu", number=2, minutes=1),
        Step("silent", "big", minutes=15), Step("wait", minutes=90),
    ), seed=8917, variant="autumn", kinds=("karpenter", "node-group")),
    # No sweep kept when its nodes ran: the guard kept it as its last act.
    "a lease cannot be read for longer than EC2 remembers its nodes": History(
        (Step("wait", minutes=177), Step("ill", "big", minutes=90), Step("wait", minutes=90)),
        kinds=("node-group", "auto-mode"),
    ),
    # The next two: the guard could not read the bar, so it swept no pool and moved no bar.
    "a bar past every calendar is shut, and the guard goes on": History((
        Step("bar-by-hand", "gpu", number=3, minutes=7), Step("by-hand", "gpu", number=2, minutes=15),
        Step("stray", "big", minutes=40),
    ), kinds=KARPENTER),
    "a bar that the API server alone reads is shut": History((
        Step("bar-by-hand", "gpu", number=3, minutes=1), Step("wait", minutes=15),
        Step("by-hand", "gpu", number=2, minutes=40),
    ), kinds=KARPENTER),
    "a lease opens and ends at a bar that nobody reads": History((
        Step("open", "gpu", number=2, minutes=20), Step("bar-by-hand", "gpu", number=3, minutes=7),
        Step("wait", minutes=40),
    ), kinds=KARPENTER),
    "the failsafe alone ends a lease while nothing of ours acts": History((
        Step("open", "gpu", number=2, minutes=15), Step("wait", minutes=7),
        Step("dead", "gpu", minutes=1, name="guard"), Step("ill", "gpu", minutes=90),
    ), kinds=KARPENTER),
}  # fmt: skip


@pytest.mark.parametrize("story", NODE_POOL_STORIES.values(), ids=NODE_POOL_STORIES)
def test_a_story_breaks_no_law(story: History) -> None:
    assert play(story) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kinds", sorted({*OF_NODE_POOLS, KARPENTER, AUTO_MODE}))
def test_a_story_of_node_groups_breaks_no_law_on_node_pools(kinds: tuple[str, ...]) -> None:
    for name, story in STORIES.items():
        if story.variant != "settings" or "auto-mode" not in kinds:
            assert play(replace(story, kinds=kinds)) == [], name


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("seconds", [12, 16, 20])
def test_a_lease_that_is_closed_seconds_after_a_launch_is_proven_and_paid(seconds: int, seed: int) -> None:
    """EC2 did not list the instance yet: zero was proven while it ran, and no receipt had its seconds."""
    played = Play(World(of_kinds({**LAB, "windows": []}, KARPENTER), START, seed), seed)
    with played.world as world:
        world.run(FIRST_SWEEP)
        opens = {"verb": "open", "nodes": 1, "for_seconds": 3600, "add": True}
        ask(world, "alice", {**opens, "pool": "gpu", "token": "t-1"})
        world.run(timedelta(seconds=seconds))
        ask(world, BOSS, {"verb": "close", "pool": "gpu", "token": "t-2"})
        played.settle()

        assert played.laws.finish() == []


@pytest.mark.parametrize("alive", [True, False], ids=["its controller lives", "its controller is dead"])
@pytest.mark.parametrize("silent", [False, True], ids=["the API server answers", "the API server is silent"])
def test_with_every_function_deleted_the_failsafe_alone_ends_karpenters_pool(
    alive: bool, silent: bool
) -> None:
    played = Play(World(of_kinds({**LAB, "windows": []}, KARPENTER), START, 1), 1)
    with played.world as world:
        pools = world.supply
        assert isinstance(pools, Pools)
        world.run(FIRST_SWEEP)
        played.step(Step("open", "gpu", number=2, minutes=20))
        world.run(timedelta(minutes=10))
        assert len(pools.staying("gpu")) == 2
        world.functions.deleted |= {*FUNCTIONS, "diagnosis", "experiments", "commands"}
        pools.node_pools.karpenter.health.alive = alive
        world.kubernetes.health.silent = silent
        world.run(timedelta(hours=2))

        assert world.machines.of_pool("gpu") == []
        assert pools.size("gpu") == (2 if silent else 0)


def test_with_every_function_deleted_kubernetes_alone_brings_auto_modes_pool_to_zero() -> None:
    played = Play(World(of_kinds({**LAB, "windows": []}, AUTO_MODE), START, 1), 1)
    with played.world as world:
        world.run(FIRST_SWEEP)
        played.step(Step("open", "gpu", number=2, minutes=20))
        world.run(timedelta(minutes=10))
        assert len(world.supply.staying("gpu")) == 2
        world.functions.deleted |= {*FUNCTIONS, "diagnosis", "experiments", "commands"}
        world.run(timedelta(hours=2))

        assert (world.supply.size("gpu"), world.machines.of_pool("gpu")) == (0, [])
