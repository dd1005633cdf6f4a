"""Plays histories in the present sources until a law is broken; prints after how many, and what was broken.

Run in a copy of the sources with one breakage in it; with a number behind the law only that history is played.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from tests.mutations.experiments import histories
from tests.properties.laws.test_laws import STORIES
from tests.world.history import history, play

HISTORIES, SECONDS = 2_000, 1800.0
EXPERIMENTS = 10
"""The law that has histories of its own."""


def hunt(law: int, only: int | None = None) -> dict[str, object]:
    """The first history that breaks the law; `broken` is empty where none did."""
    begun = time.monotonic()
    number = 0
    for number, let in enumerate(_histories(law), 1):
        if only not in {None, number}:
            continue
        broken = [what for what in let() if what.startswith(f"law {law} ")]
        if broken:
            return {"histories": number, "broken": broken[0]}
        if time.monotonic() - begun > SECONDS:
            break
    return {"histories": number, "broken": ""}


def _histories(law: int) -> Iterator[Callable[[], list[str]]]:
    if law == EXPERIMENTS:
        yield from histories()
        return
    for told in STORIES.values():
        yield partial(play, told)
    for seed in range(HISTORIES):
        yield partial(play, history(random.Random(seed)))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(hunt(*map(int, sys.argv[1:]))))
