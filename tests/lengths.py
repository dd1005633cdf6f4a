"""The length of tests: short and always the same in `make test`, long and from a fresh seed in `make test-long`.

LAMPLIGHTER_TESTS=long selects the long run. LAMPLIGHTER_SEED repeats a long run; pytest's header prints its seed.
"""

import os
import random

LONG = os.environ.get("LAMPLIGHTER_TESTS") == "long"
SEED = int(os.environ.get("LAMPLIGHTER_SEED") or random.SystemRandom().randrange(2**32)) if LONG else None
EXAMPLES = (50, 200)
"""The examples of a property that names no number: in a short run and in a long one."""


def examples(brief: int, long: int) -> int:
    """The number of examples of a property."""
    return long if LONG else brief
