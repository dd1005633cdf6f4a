"""What somebody may do on purpose, or an autoscaler without one: each broke a law that no random history had broken."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from lamplighter.domain.schedule import start_name
from tests.world.history import Play
from tests.world.labs import FIRST_SWEEP, LAB, START
from tests.world.people import ask
from tests.world.world import World

SAME_LEASE = {"alice": "a22158", "bob": "b116397"}
"""Tokens under which the commands of both make a lease of the same id: its 32 bits are soon searched through."""


@contextmanager
def lab(**more: Any) -> Iterator[Play]:
    with World({**LAB, "windows": [], **more}, START, 1) as world:
        world.run(FIRST_SWEEP)
        yield Play(world, 1)


def alive(world: World) -> int:
    return sum(machine.alive for machine in world.machines.of_pool("gpu"))


def decided(world: World, command: str | None) -> Any:
    return world.dynamodb.items["POOL#gpu", f"COMMAND#{command}"]


def test_what_is_raised_again_and_again_is_lowered_as_soon_each_time() -> None:
    with lab() as played:
        world = played.world
        ask(world, "alice", {"verb": "open", "pool": "gpu", "token": "x", "nodes": 1, "for_seconds": 9000})
        world.run(timedelta(minutes=12))
        group = next(each for each in world.machines.groups.values() if each.pool == "gpu")
        for _ in range(5):
            world.autoscaling.update_auto_scaling_group(
                AutoScalingGroupName=group.name, MinSize=0, DesiredCapacity=2
            )
            begun = world.now
            while group.desired > 1 and world.now - begun < timedelta(minutes=15):
                world.run(timedelta(minutes=1))
            assert world.now - begun <= timedelta(minutes=8)
            world.run(timedelta(minutes=2))
        assert alive(world) == 1


def test_a_long_name_is_closed_by_the_guard_on_every_day() -> None:
    """Names of pool and window filled the name of the run, and for 90 days it had been started already."""
    window, pool = "w" * 40, "p" * 40
    names = {start_name(f"guard-{pool}-{window}-2026-11-{day}-202611{day}T1700Z") for day in (20, 21)}
    assert len(names) == 2
    assert {len(name) for name in names} == {80}
