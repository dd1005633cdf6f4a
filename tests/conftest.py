"""What every test shares: how long it looks, AWS's own models, and no endpoint of the shell that starts it.

Each botocore session reads the models anew, a new session comes with each mocked account, and EC2's alone takes
longer than most tests. A shell that speaks to an embedded cloud must not lead mocked calls there. No property has
a deadline: how long an example takes is the machine's, not the code's.
"""

import gc
import os
from functools import cache
from pathlib import Path

import botocore.loaders
import pytest
from hypothesis import is_hypothesis_test, settings

from tests.lengths import EXAMPLES, LONG, SEED, examples

SCENARIOS = Path(__file__).with_name("scenarios")

for name in [each for each in os.environ if each.startswith("AWS_ENDPOINT_URL")]:
    del os.environ[name]
# Whoever runs the tests keeps the names that their own shell completes.
os.environ["LAMPLIGHTER_NAMES"] = ""
if SEED is not None:
    # Each worker, and what is started from it, has the same.
    os.environ["LAMPLIGHTER_SEED"] = str(SEED)
botocore.loaders.create_loader = cache(botocore.loaders.create_loader)
brief, long = EXAMPLES
settings.register_profile("brief", deadline=None, max_examples=brief, derandomize=True, database=None)
settings.register_profile("long", deadline=None, max_examples=long, database=None, print_blob=True)
settings.load_profile("long" if LONG else "brief")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if SEED is not None and config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A long run has what looks longer in it; each of these is in vain after an hour, not after five minutes."""
    if not LONG:
        return
    left_out = [item for item in items if not _looks_longer(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if _looks_longer(item)]
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(3600))


def _looks_longer(item: pytest.Item) -> bool:
    """Whether a test does more in a long run than in a brief one; scenarios are judged together there."""
    if item.get_closest_marker("long") is not None or item.path.is_relative_to(SCENARIOS):
        return True
    asks = item.getparent(pytest.Module)
    asking = vars(asks.obj) if asks else {}
    return (
        is_hypothesis_test(getattr(item, "obj", None))
        or asking.get("examples") is examples
        or "LONG" in asking
    )


def pytest_collection_finish() -> None:
    # What was loaded stays: collecting garbage need not look through it again and again.
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    if SEED is None:
        return "the tests look briefly, the same each time: LAMPLIGHTER_TESTS=long looks for long"
    return f"the tests look for long: LAMPLIGHTER_TESTS=long LAMPLIGHTER_SEED={SEED} looks again at the same"
