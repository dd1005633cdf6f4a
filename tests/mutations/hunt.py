"""Plays histories in the present sources until a law is broken; prints after how many, and what was broken.

Run in a copy of the sources with one breakage in it.
"""

import json
import random
import sys
import time

from tests.properties.test_laws import STORIES
from tests.world.history import history, play

HISTORIES, SECONDS = 400, 600.0


def hunt(law: int) -> dict[str, object]:
    """The first history that breaks the law; `broken` is empty where none did."""
    begun = time.monotonic()
    told = [*STORIES.values(), *(history(random.Random(seed)) for seed in range(HISTORIES))]
    for number, each in enumerate(told, 1):
        broken = [what for what in play(each) if what.startswith(f"law {law} ")]
        if broken:
            return {"histories": number, "broken": broken[0]}
        if time.monotonic() - begun > SECONDS:
            break
    return {"histories": number, "broken": ""}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(hunt(int(sys.argv[1]))))
