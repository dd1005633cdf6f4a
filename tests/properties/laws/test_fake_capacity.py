"""The laws over any history with the fake in the place of node groups: capacity that no service of AWS knows.

The world has no Auto Scaling then, of EKS only the cluster and of EC2 only the security groups. So the product calls
nothing else of them outside the port's folders, or the history fails with the name of the call.
"""

import random
from datetime import timedelta

import boto3
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from lamplighter.adapters.aws.ledger.ledger import Ledger
from tests.lengths import SEED
from tests.properties.histories import histories
from tests.properties.laws.test_laws import STORIES
from tests.world.capacity.fake_capacity import END_ALL, SIZE
from tests.world.capacity.fake_pools import FakePools
from tests.world.history import FUNCTIONS, History, Play, Step, history, play
from tests.world.labs import FIRST_SWEEP, GROUPS, LAB, START
from tests.world.outside import NotInTheWorld
from tests.world.people import BOSS, ask
from tests.world.world import World

ALONE = {**LAB, "windows": []}


@pytest.mark.timeout(3600)
@settings(max_examples=histories(6, share=100), suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(st.randoms(use_true_random=False))
def test_no_history_breaks_a_law(chance: random.Random) -> None:
    told = history(chance, kinds_of_pools=(GROUPS,))
    note(repr(told))
    assert play(told, FakePools) == []


@pytest.mark.long
@pytest.mark.timeout(5400)
def test_none_of_many_histories_breaks_a_law() -> None:
    for number in range(histories(20)):
        told = history(random.Random(f"fake {SEED} {number}"), kinds_of_pools=(GROUPS,))
        assert play(told, FakePools) == [], f"history {number} of seed {SEED}: {told!r}"


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_a_story_breaks_no_law(story: History) -> None:
    assert play(story, FakePools) == []


@pytest.mark.parametrize(
    ("service", "operation"),
    [("eks", "describe_nodegroup"), ("eks", "update_nodegroup_config"), ("ec2", "terminate_instances")],
)
def test_a_world_with_the_fake_has_no_call_that_is_about_pools(service: str, operation: str) -> None:
    with World(ALONE, START, kind=FakePools), pytest.raises(NotInTheWorld, match=f"{service}.{operation}"):
        getattr(boto3.client(service), operation)()  # type: ignore[call-overload]
    with World(ALONE, START, kind=FakePools), pytest.raises(NotInTheWorld, match="autoscaling"):
        boto3.client("autoscaling")


def test_nothing_starts_without_a_lease_whatever_somebody_scales_by_hand() -> None:
    played = Play(World(ALONE, START, 1, FakePools), 1)
    with played.world as world:
        world.run(FIRST_SWEEP)
        for _ in range(3):
            world.supply.resize("gpu", 3)
            world.run(timedelta(minutes=10))

        assert world.machines.machines == {}
        assert world.supply.size("gpu") == 0  # the guard takes the order back
        assert played.laws.finish() == []


@pytest.mark.parametrize("until", [None, timedelta(hours=8)], ids=["lost", "opened by hand"])
def test_a_bar_that_somebody_moved_stands_right_after_one_sweep(until: timedelta | None) -> None:
    """A lost bar under a lease lets its nodes come again; one that was opened by hand is shut."""
    played = Play(World(ALONE, START, 1, FakePools), 1)
    with played.world as world:
        pools = world.supply
        assert isinstance(pools, FakePools)
        world.run(FIRST_SWEEP)
        played.step(Step("open", "gpu", number=1, minutes=60))
        world.run(timedelta(minutes=10))
        leased = pools.pools["gpu"].not_after
        pools.pools["gpu"].not_after = None if until is None else world.now + until
        world.run(timedelta(minutes=6))

        assert pools.pools["gpu"].not_after == leased

        world.run(timedelta(minutes=70))
        pools.pools["gpu"].not_after = world.now + timedelta(hours=8)
        world.run(timedelta(minutes=6))

        shut = pools.pools["gpu"].not_after
        assert shut is not None
        assert shut <= world.now


def test_after_a_lease_that_ends_early_nothing_starts_in_the_time_that_it_had_left() -> None:
    played = Play(World(ALONE, START, 1, FakePools), 1)
    with played.world as world:
        world.run(FIRST_SWEEP)
        played.step(Step("open", "gpu", number=1, minutes=90))
        world.run(timedelta(minutes=10))
        played.step(Step("close", "gpu", number=1))
        world.run(timedelta(minutes=20))
        before = len(world.machines.machines)
        world.supply.resize("gpu", 3)
        world.run(timedelta(minutes=20))

        assert before == len(world.machines.machines) == 1
        assert played.laws.finish() == []


def test_after_the_first_of_two_leases_the_second_still_gets_a_node_in_the_place_of_one_that_fails() -> None:
    played = Play(World(ALONE, START, 1, FakePools), 1)
    with played.world as world:
        world.run(FIRST_SWEEP)
        played.step(Step("open", "gpu", number=1, minutes=20))
        played.step(Step("open", "gpu", number=0, minutes=60))
        world.run(timedelta(minutes=70))
        [one] = world.supply.staying("gpu")
        world.machines.shut_down(one)
        world.run(timedelta(minutes=10))

        assert len(world.supply.staying("gpu")) == 1
        assert played.laws.broken == []


def test_whoever_arms_takes_the_calls_of_the_off_switch() -> None:
    """A grant, a sweep that finds the schedules deleted, an extension, and a close of the whole pool."""
    played = Play(World(ALONE, START, 1, FakePools), 1)
    with played.world as world:

        def armed() -> list[str]:
            entries = world.scheduler.entries.items()
            return [each.asked["Target"]["Arn"] for name, each in sorted(entries) if "failsafe" in name]

        world.run(FIRST_SWEEP)
        assert armed() == []
        played.step(Step("open", "gpu", number=2, minutes=60))
        world.run(timedelta(minutes=10))
        granted = armed()
        for name in list(world.scheduler.entries):
            world.scheduler.delete_schedule(GroupName="any", Name=name)
        assert ask(world, BOSS, {"verb": "arm", "pool": "gpu", "token": "arm"})
        world.run(timedelta(minutes=10))
        swept = armed()
        [lease] = Ledger("gpu-lab-ledger").leases("gpu")
        later = {"verb": "extend", "pool": "gpu", "lease": lease.id, "for_seconds": 600, "token": "longer"}
        assert ask(world, BOSS, later)
        world.run(timedelta(minutes=2))
        extended = armed()
        assert ask(world, BOSS, {"verb": "close", "pool": "gpu", "token": "all"})
        world.run(timedelta(minutes=20))

        assert sorted(granted) == sorted([SIZE, SIZE, END_ALL, SIZE])
        assert (swept, extended, armed()) == (granted, granted, [])
        assert world.machines.of_pool("gpu") == []


def test_with_every_function_deleted_the_off_switch_alone_brings_a_pool_to_zero() -> None:
    played = Play(World(ALONE, START, 1, FakePools), 1)
    with played.world as world:
        world.run(FIRST_SWEEP)
        played.step(Step("open", "gpu", number=2, minutes=20))
        world.run(timedelta(minutes=10))
        assert len(world.supply.staying("gpu")) == 2
        world.functions.deleted |= set(FUNCTIONS) | {"diagnosis", "experiments", "commands"}
        world.supply.keep_busy("gpu", 4 * 3600.0)
        world.run(timedelta(hours=2))

        assert (world.supply.size("gpu"), world.machines.of_pool("gpu")) == (0, [])
