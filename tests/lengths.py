"""How long tests look: briefly and the same each time in `make test`, long and from a fresh seed in `make test-long`.

LAMPLIGHTER_TESTS=long says so; LAMPLIGHTER_SEED repeats a long run, whose seed is in the header of pytest.
"""

import os
import random

LONG = os.environ.get("LAMPLIGHTER_TESTS") == "long"
SEED = int(os.environ.get("LAMPLIGHTER_SEED") or random.SystemRandom().randrange(2**32)) if LONG else None
EXAMPLES = (50, 400)
"""Of a property that says nothing else, brief and long."""


def examples(brief: int, long: int) -> int:
    """How many a property is shown."""
    return long if LONG else brief
