"""Plays histories in the present sources until a law is broken; prints after how many, and what was broken.

Run in a copy of the sources with one breakage in it; with a number behind the law only that history is played. The
words fake, node-pools and faults behind the law play those with the fake in the place of node groups, those of
NodePools, and the evenings of tests/properties/laws/test_faults.py.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from tests.mutations.experiments import histories
from tests.properties.laws.test_faults import BROKE, BROKE_EARLY, broke, calls, evening
from tests.properties.laws.test_laws import STORIES
from tests.properties.laws.test_node_pools import NODE_POOL_STORIES
from tests.world.capacity.fake_pools import FakePools
from tests.world.history import OF_NODE_POOLS, history, play
from tests.world.labs import GROUPS

HISTORIES, SECONDS = 2_000, 1800.0
EXPERIMENTS = 10
"""The law that has histories of its own."""
NODE_POOLS = "node-pools"


def hunt(law: int, only: int | None = None, *, kind: str = "") -> dict[str, object]:
    """The first history that breaks the law; `broken` is empty where none did."""
    begun = time.monotonic()
    number = 0
    for number, let in enumerate(_histories(law, kind), 1):
        if only not in {None, number}:
            continue
        broken = [what for what in let() if what.startswith((f"law {law} ", f"law {law}:"))]
        if broken:
            return {"histories": number, "broken": broken[0]}
        if time.monotonic() - begun > SECONDS:
            break
    return {"histories": number, "broken": ""}


def _histories(law: int, kind: str) -> Iterator[Callable[[], list[str]]]:
    if law == EXPERIMENTS:
        yield from histories()
        return
    if kind == "faults":
        yield from (partial(broke, fault, late=False) for fault in BROKE_EARLY.values())
        yield from (partial(broke, fault) for fault in BROKE.values())
        number = len(calls())
        yield from (evening(each, number).broken for each in range(number))
        return
    supply = FakePools if kind == "fake" else None
    of_node_pools = kind == NODE_POOLS
    for told in (NODE_POOL_STORIES if of_node_pools else STORIES).values():
        yield partial(play, told, supply)
    for seed in range(HISTORIES):
        kinds = OF_NODE_POOLS if of_node_pools else (GROUPS,)
        yield partial(play, history(random.Random(seed), kinds_of_pools=kinds), supply)


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each.isdecimal()]
    [kind] = [each for each in sys.argv[1:] if not each.isdecimal()] or [""]
    sys.stdout.write(json.dumps(hunt(*numbers, kind=kind)))
