"""How long any node ran without a lease, over many random histories; and what a sweep of one lab costs.

Histories are played in the world of tests/world: with all events, with every event lost, and with every
function deleted from some instant on, where only the failsafe is left. LAMPLIGHTER_HISTORIES asks for fewer.
"""

import os
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from functools import partial

from local.aws.functions.durations import ANSWER_SECONDS, INIT_SECONDS
from tests.bench.figure import Measurement, seconds_of
from tests.world.history import FUNCTIONS, History, Play, Step, history, play
from tests.world.labs import GROUPS, LAB, START
from tests.world.world import World

HISTORIES = int(os.environ.get("LAMPLIGHTER_HISTORIES", "10000"))
PLAYED = min(HISTORIES, 500)
MOST_STEPS = 5
#: Nothing that keeps AWS itself from starting, ending or showing nodes: only ours is measured here.
OUTSIDE = frozenset({"immortal", "silent", "stuck-update", "trouble", "dead", "stray", "capacity", "scarce"})
SWEEPS = 200
SWEEPS_A_MONTH = 30 * 24 * 12
#: Seoul, arm64, on demand: a GB-second and a request of Lambda, and a million events of EventBridge.
GB_SECOND, REQUEST, EVENT = 0.0000133334, 0.0000002, 0.000001
GUARD_GB = 0.5
#: A read of one item or a query up to 4 KB, consistent; DynamoDB on demand.
READ = 0.0000001420


def longest(told: History, kind: str) -> float:
    """The longest stretch, in seconds, in which a pool had more nodes than leases justified."""
    world = World(told.lab(), told.start, told.seed)
    played = Play(world, told.seed)
    world.machines.troubles.events_lost = kind != "with-events"
    world.sweeps_at_rest = False
    with world:
        for step in told.steps:
            if step.what != "events-lost":
                played.step(step)
        if kind == "functions-deleted":
            world.functions.deleted |= set(FUNCTIONS)
            deleted = world.now
            world.run(timedelta(hours=6))
            return _past_the_last_end(played, deleted)
        played.settle()
        return max((_seconds(played, pool) for pool in played.truth.pools()), default=0.0)


def _seconds(played: Play, pool: str) -> float:
    found = 0.0
    for since, until in played.truth.exposed(pool, played.world.now):
        began = max([at for at in played.laws.excused.get(pool, []) if since <= at <= until], default=since)
        found = max(found, (until - began).total_seconds())
    return found


def _past_the_last_end(played: Play, deleted: object) -> float:
    """With nothing of ours left: from the last end of a pool's leases until its last node was gone."""
    found = 0.0
    for pool in played.truth.pools():
        ends = [v.closes for v in played.truth.known(pool).values() if v.granted or v.state == "closing"]
        gone = [life.ended or played.world.now for life in played.truth.machines.get(pool, {}).values()]
        if ends and gone:
            found = max(found, (max(gone) - max(ends)).total_seconds())
    return found


def _told(seed: int, kind: str) -> History:
    made = history(random.Random(seed), MOST_STEPS, (GROUPS,))
    steps = tuple(step for step in made.steps if step.what not in OUTSIDE)
    if kind == "functions-deleted":
        # What a lease justified; by hand anything may run, and only the guard would see it.
        kept = ("by-hand", "lose-schedule", "deploy", "cold")
        steps = tuple(step for step in steps if step.what not in kept)
        steps = (*steps, Step("open", "gpu", number=2, minutes=15), Step("wait", minutes=7))
    return History(steps, made.seed)


def _worst(seeds: range, kind: str) -> float:
    return max(longest(_told(seed, kind), kind) for seed in seeds)


def _take(kind: str) -> Callable[[], Mapping[str, float]]:
    def take() -> Mapping[str, float]:
        parts = [range(first, min(first + 250, HISTORIES)) for first in range(0, HISTORIES, 250)]
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            worst = max(pool.map(_worst, parts, [kind] * len(parts)))
        return {f"exposure-{kind}": worst / 60}

    return take


def _broken(seeds: range) -> int:
    return sum(bool(play(history(random.Random(f"bench {seed}")))) for seed in seeds)


def _histories() -> Mapping[str, float]:
    """Histories of any length with everything that may happen in them, each judged by all laws."""
    parts = [range(first, min(first + 25, PLAYED)) for first in range(0, PLAYED, 25)]
    begun = time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        broken = sum(pool.map(_broken, parts))
    return {
        "histories": PLAYED,
        "histories-broken": broken,
        "histories-a-second": PLAYED / (time.perf_counter() - begun),
    }


def _sweep() -> Mapping[str, float]:
    """A sweep of a lab with one pool: at rest, and while two of its nodes run for a lease."""
    lab = {**LAB, "pools": {"gpu": LAB["pools"]["gpu"]}, "windows": []}
    calls: dict[str, float] = {}
    took: dict[str, float] = {}
    for name in ("at-rest", "running"):
        with World(lab, START) as world:
            played = Play(world, 0)
            if name == "running":
                played.step(Step("open", "gpu", number=2, minutes=90))
                world.run(timedelta(minutes=20))
            before = world.functions.calls
            arn = world.arn("lambda", "function:gpu-lab-guard")
            world.functions.now(arn, {"source": "rule"})
            calls[name] = world.functions.calls - before
            took[name] = min(seconds_of(partial(world.functions.now, arn, {})) for _ in range(SWEEPS))
    # On AWS a sweep waits for its calls, some 15 ms each, one after the other.
    # Each is counted as a cold start: between two of them Lambda may give the place away, and Init is billed.
    waits = INIT_SECONDS + calls["at-rest"] * ANSWER_SECONDS + 0.05
    month = SWEEPS_A_MONTH * (waits * GUARD_GB * GB_SECOND + REQUEST + EVENT + 5 * READ)
    return {
        "sweep-calls-at-rest": calls["at-rest"],
        "sweep-calls-running": calls["running"],
        "sweep-at-rest": took["at-rest"] * 1000,
        "sweep-running": took["running"] * 1000,
        "sweep-price": month,
    }


MEASUREMENTS = (
    Measurement(
        {
            "sweep-calls-at-rest": "calls",
            "sweep-calls-running": "calls",
            "sweep-at-rest": "ms",
            "sweep-running": "ms",
            "sweep-price": "USD/month",
        },
        _sweep,
    ),
    Measurement(
        {"histories": "histories", "histories-broken": "histories", "histories-a-second": "1/s"}, _histories
    ),
    *(
        Measurement({f"exposure-{kind}": "min"}, _take(kind))
        for kind in ("with-events", "without-events", "functions-deleted")
    ),
)
