"""Law 10 over experiments: killed at any call of any step, closed early, shortened, undone by hand, or all at once.

Whatever happens, security groups and ClusterPolicy are as before when the lease ends.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.experiments.catalogue import CATALOGUE, DEVICE_PLUGIN_OFF, NCCL_BLOCKED
from lamplighter.domain.experiments.run import MARGIN
from tests.lengths import LONG
from tests.properties.histories import histories
from tests.world.aws.functions import KINDS, Invocation, Trouble
from tests.world.experiments import LAB, NOON, SECONDS, Judge, begin, command, leased, runs
from tests.world.world import World

STEPS = ("Prepare", "AnnounceChange", "Change", "Observe", "Restore", "ProveRestored", "Report", "Announce")
CHANGING = (NCCL_BLOCKED.name, DEVICE_PLUGIN_OFF.name, "taint-mismatch")
#: The calls of a step at which it dies in a short run. A long run has all others.
BRIEFLY = frozenset({1, 3, 8, 17})
TRIES = 6
"""One run of the workflow tries a step that always fails this many times."""


def judged(
    happens: Callable[[World, str], datetime | None], *, seed: int = 1, minutes: int = 90
) -> tuple[list[str], Judge, World]:
    """Let something happen inside a lease, and judge half an hour after its end.

    What happens may give the instant at which the trouble of our functions ended.
    """
    with World(LAB, NOON, seed) as world:
        judge = Judge(world)
        world.event_queue.every(SECONDS, judge.look, 1.0)
        lease = leased(world, minutes)
        ledger = Ledger("gpu-lab-ledger")
        found = ledger.lease("gpu", lease)
        assert found is not None
        well = happens(world, lease)
        world.run(max(found.closes - world.now, timedelta()) + timedelta(minutes=30))
        closes = ledger.lease("gpu", lease)
        assert closes is not None
        broken = judge.broken(closes.closes, found.closes, well) + world.functions.unnamed
        assert judge.as_before
        assert not [name for name in world.scheduler.entries if name.startswith("experiment-")]
        return broken, judge, world


def dies(step: str, at: int, tries: int = TRIES) -> Callable[[str, str], tuple[Trouble, ...]]:
    """The function of a step dies at that call, at every try of one run of the workflow."""
    left = [tries]

    def troubles(_function: str, made: str) -> tuple[Trouble, ...]:
        if made != step or left[0] <= 0:
            return ()
        left[0] -= 1
        return (Trouble(at, "die"),)

    return troubles


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_experiment_changes_observes_and_puts_back(name: str) -> None:
    def happens(world: World, _lease: str) -> None:
        begin(world, name)
        world.run(timedelta(minutes=30))
        [run] = runs()
        assert (run.phase.value, run.proof.get("verdict")) == ("proven", "passed")
        assert run.seen

    broken, judge, _ = judged(happens)

    assert broken == []
    assert bool(judge.changed) is CATALOGUE[name].changes_cluster


@cache
def calls(name: str) -> Mapping[str, int]:
    """The most calls that each step makes at once while nothing goes wrong."""
    most = Counter[str]()

    def happens(world: World, _lease: str) -> None:
        def count(made: Invocation, _outcome: str) -> None:
            most[made.step] = max(most[made.step], made.calls)

        world.functions.seen = count
        begin(world, name)

    assert judged(happens)[0] == []
    return most


@pytest.mark.longer
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", [NCCL_BLOCKED.name, DEVICE_PLUGIN_OFF.name])
def test_killed_at_whatever_call_the_lease_ends_as_it_began(name: str, step: str) -> None:
    made = range(1, calls(name)[step] + 1)
    assert made
    for at in made:
        if LONG is (at in BRIEFLY):
            continue

        def happens(world: World, _lease: str, at: int = at) -> None:
            world.functions.troubles = dies(step, at)
            begin(world, name)

        assert judged(happens)[0] == [], at


def test_with_every_function_of_ours_deleted_ec2_gives_the_rules_back_itself() -> None:
    def happens(world: World, _lease: str) -> None:
        begin(world, NCCL_BLOCKED.name)
        world.run(timedelta(minutes=1))
        assert not world.security_groups.whole
        world.functions.deleted |= {"experiments", "leases", "guard", "notices", "cluster", "nodegroups"}
        world.run(NCCL_BLOCKED.lasts + timedelta(minutes=4))
        assert world.security_groups.whole
        world.functions.deleted.clear()

    broken, judge, _ = judged(happens)

    assert broken == []
    assert judge.changed[-1] - judge.changed[0] <= NCCL_BLOCKED.lasts + timedelta(minutes=4)


@pytest.mark.parametrize("name", CHANGING)
def test_a_lease_that_is_closed_early_is_as_it_began_before_it_is_over(name: str) -> None:
    def happens(world: World, lease: str) -> None:
        begin(world, name)
        world.run(timedelta(seconds=3))
        assert not Judge(world).as_before
        world.give("close", command(world, "close", lease=lease))
        world.run(timedelta(minutes=5))

    broken, _, _ = judged(happens)

    assert broken == []


@pytest.mark.parametrize("name", CHANGING)
def test_a_lease_that_is_shortened_takes_its_experiment_along(name: str) -> None:
    def happens(world: World, lease: str) -> None:
        # No step observes it: only the schedules of the run undo it in time.
        world.functions.troubles = dies("Observe", 1, tries=1000)
        begin(world, name)
        world.run(timedelta(seconds=3))
        closes = (world.now + timedelta(minutes=5)).isoformat(timespec="seconds").replace("+00:00", "Z")
        # A lease ends early only a quarter of an hour after a warning.
        world.give("extend", command(world, "extend", lease=lease, closes=closes, source="window"))
        world.run(timedelta(minutes=5, seconds=90))
        assert Judge(world).as_before

    broken, _, _ = judged(happens)

    assert broken == []


def test_a_person_may_end_it_at_any_time() -> None:
    def happens(world: World, _lease: str) -> None:
        begin(world, NCCL_BLOCKED.name)
        world.run(timedelta(seconds=30))
        assert not world.security_groups.whole
        world.give("experiment", command(world, "restore"))
        world.run(timedelta(seconds=20))
        assert world.security_groups.whole

    assert judged(happens)[0] == []


def test_nothing_begins_that_could_not_be_undone_in_time() -> None:
    def happens(world: World, _lease: str) -> None:
        begin(world, NCCL_BLOCKED.name)
        world.run(timedelta(minutes=2))
        assert runs() == []

    # Opening takes 14 minutes: the rest is shorter than the experiment and its margin.
    broken, judge, _ = judged(
        happens, minutes=14 + int((NCCL_BLOCKED.lasts + MARGIN).total_seconds() / 60) - 1
    )

    assert broken == []
    assert judge.changed == []


HAPPENINGS = ("run", "run", "run", "restore", "close", "shorten", "trouble", "dead", "wait", "wait")


@pytest.mark.timeout(3600)
@settings(max_examples=histories(6), suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(st.randoms(use_true_random=False))
def test_no_history_of_experiments_breaks_law_10(chance: random.Random) -> None:
    told = [(chance.choice(HAPPENINGS), chance.randint(0, 11)) for _ in range(chance.randint(2, 9))]
    note(repr(told))

    def happens(world: World, lease: str) -> datetime:
        for what, number in told:
            _let(world, lease, what, number, chance)
        world.functions.troubles = lambda _function, _step: ()
        world.functions.deleted.clear()
        return world.now

    # The functions work again when the margin begins: a failure that lasts to the end is not judged.
    broken, _, _ = judged(happens, seed=1, minutes=150)

    assert broken == []


def _let(world: World, lease: str, what: str, number: int, chance: random.Random) -> None:
    match what:
        case "run":
            begin(world, list(CATALOGUE)[number % len(CATALOGUE)])
        case "restore":
            world.give("experiment", command(world, "restore"))
        case "close":
            world.give("close", command(world, "close", lease=lease))
        case "shorten":
            closes = world.now + timedelta(minutes=5 + 3 * number)
            written = closes.isoformat(timespec="seconds").replace("+00:00", "Z")
            world.give("extend", command(world, "extend", lease=lease, closes=written, source="window"))
        case "trouble":
            rate = (1 + number) / 12
            world.functions.troubles = lambda _function, _step: _troubles(chance, rate)
        case "dead":
            world.functions.deleted ^= {("experiments", "notices", "diagnosis")[number % 3]}
    world.run(timedelta(seconds=chance.choice((1, 5, 40, 200, 500))))


def _troubles(chance: random.Random, rate: float) -> tuple[Trouble, ...]:
    if chance.random() > rate:
        return ()
    return tuple(
        Trouble(chance.randint(1, 20), chance.choice(KINDS), chance.choice((2.0, 9.0)))
        for _ in range(chance.randint(1, 2))
    )
