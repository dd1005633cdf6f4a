"""Plays histories in the present sources until a law is broken; prints after how many, and what was broken.

Run in a copy of the sources with one breakage in it; with a number behind the law only that history is played. The
word fake behind the law plays the histories with the fake in the place of node groups.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from tests.mutations.experiments import histories
from tests.properties.laws.test_laws import STORIES
from tests.world.capacity.fake_pools import FakePools
from tests.world.capacity.node_groups import NodeGroups
from tests.world.history import history, play

HISTORIES, SECONDS = 2_000, 1800.0
EXPERIMENTS = 10
"""The law that has histories of its own."""


def hunt(law: int, only: int | None = None, *, fake: bool = False) -> dict[str, object]:
    """The first history that breaks the law; `broken` is empty where none did."""
    begun = time.monotonic()
    number = 0
    for number, let in enumerate(_histories(law, fake=fake), 1):
        if only not in {None, number}:
            continue
        broken = [what for what in let() if what.startswith(f"law {law} ")]
        if broken:
            return {"histories": number, "broken": broken[0]}
        if time.monotonic() - begun > SECONDS:
            break
    return {"histories": number, "broken": ""}


def _histories(law: int, *, fake: bool) -> Iterator[Callable[[], list[str]]]:
    if law == EXPERIMENTS:
        yield from histories()
        return
    kind = FakePools if fake else NodeGroups
    for told in STORIES.values():
        yield partial(play, told, kind)
    for seed in range(HISTORIES):
        yield partial(play, history(random.Random(seed)), kind)


if __name__ == "__main__":
    fake, numbers = "fake" in sys.argv, [each for each in sys.argv[1:] if each != "fake"]
    sys.stdout.write(json.dumps(hunt(*map(int, numbers), fake=fake)))
