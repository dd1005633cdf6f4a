"""What happens to experiments while law 10 is hunted: closed early, shortened, forsaken, killed at any call.

Each is played inside a lease of its own and judged by what stands in EC2 and in the ClusterPolicy.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

from lamplighter.domain.experiments.catalogue import NCCL_BLOCKED
from tests.properties.laws.test_experiments import CHANGING, STEPS, dies, judged
from tests.world.experiments import begin, command
from tests.world.world import World

Happens = Callable[[World, str], None]
OURS = {"experiments", "leases", "guard", "notices", "cluster", "nodegroups"}
CALLS = (1, 3, 5, 8, 12)


def histories() -> Iterator[Callable[[], list[str]]]:
    """Everything that is tried; each gives what it broke, as sentences."""
    yield from stories()
    for name in CHANGING:
        for step in STEPS:
            for at in CALLS:
                yield partial(_broken, partial(_killed, name, step, at))


def stories() -> Iterator[Callable[[], list[str]]]:
    """What is tried but for the killings at every call."""
    for name in CHANGING:
        for happens in (_closed_early, _closed_unseen, _shortened, _forsaken, _begun_late):
            yield partial(_broken, partial(happens, name))
    yield partial(_broken, _alone)


def _broken(happens: Happens) -> list[str]:
    try:
        found, _, _ = judged(happens)
    except AssertionError:
        found = ["at the end: something is not as before, or a schedule is left"]
    return [f"law 10 at {each}" for each in found]


def _closed_early(name: str, world: World, lease: str) -> None:
    begin(world, name)
    world.run(timedelta(seconds=3))
    world.give("close", command(world, "close", lease=lease))
    world.run(timedelta(minutes=5))


def _closed_unseen(name: str, world: World, lease: str) -> None:
    """Its workflow came to nothing and its schedules are gone, and the lease is closed ahead of the next sweep."""
    begin(world, name)
    world.run(timedelta(seconds=3))
    _forsake(world, timedelta(minutes=4))
    world.give("close", command(world, "close", lease=lease))
    world.run(timedelta(minutes=5))


def _shortened(name: str, world: World, lease: str) -> None:
    """Nobody observes it, so that its schedules alone undo it in time."""
    world.functions.troubles = dies("Observe", 1, tries=1000)
    begin(world, name)
    world.run(timedelta(seconds=3))
    closes = (world.now + timedelta(minutes=5)).isoformat(timespec="seconds").replace("+00:00", "Z")
    world.give("extend", command(world, "extend", lease=lease, closes=closes, source="window"))


def _forsaken(name: str, world: World, _lease: str) -> None:
    """Its workflow comes to nothing, and somebody deletes its schedules: nobody but the guard is left."""
    begin(world, name)
    world.run(timedelta(seconds=3))
    _forsake(world, timedelta(minutes=40))


def _forsake(world: World, length: timedelta) -> None:
    for schedule in [each for each in world.scheduler.entries if each.startswith("experiment-")]:
        world.scheduler.delete_schedule(GroupName="any", Name=schedule)
    world.functions.deleted.add("experiments")
    world.run(length)
    world.functions.deleted.clear()


def _begun_late(name: str, world: World, _lease: str) -> None:
    """Asked for when little of the lease is left."""
    world.run(timedelta(minutes=73))
    begin(world, name)


def _alone(world: World, _lease: str) -> None:
    """None of our functions is there any more: EC2's own schedules are left."""
    begin(world, NCCL_BLOCKED.name)
    world.run(timedelta(minutes=1))
    world.functions.deleted |= OURS


def _killed(name: str, step: str, at: int, world: World, _lease: str) -> None:
    world.functions.troubles = dies(step, at)
    begin(world, name)
