"""What every test shares: the length of a run, AWS's models, and no endpoint of the calling shell.

Each botocore session reads the models again, each mocked account needs a new session, and EC2's model alone takes
longer than most tests. A shell that talks to an embedded cloud must not send mocked calls there. No property has a
deadline, because the time of an example depends on the machine.
"""

import gc
import os
import time
from functools import cache

import botocore.loaders
import pytest
from hypothesis import is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.lengths import EXAMPLES, LONG, SEED
from tests.steady.once_flaky import MARKER, pytest_generate_tests, pytest_runtest_protocol  # noqa: F401

for name in [each for each in os.environ if each.startswith("AWS_ENDPOINT_URL")]:
    del os.environ[name]
# The machine's time zone decides nothing. No lab is in this one, and it is half an hour beside UTC's hours.
os.environ["TZ"] = "America/St_Johns"
time.tzset()
# The tests do not change the names that the person's own shell completes.
os.environ["LAMPLIGHTER_NAMES"] = ""
# A synthesis applies CloudFormation's rules only in the tests of these rules (tests/infra/conftest.py).
os.environ["CDK_VALIDATION"] = "false"
if SEED is not None:
    # Each worker, and every program that it starts, has the same.
    os.environ["LAMPLIGHTER_SEED"] = str(SEED)
botocore.loaders.create_loader = cache(botocore.loaders.create_loader)
# Examples are often constants of the modules that are loaded. Which these are depends on the tests before in the same
# worker, so a brief run would look at others each time.
providers._get_local_constants = cache(Constants)
brief, long = EXAMPLES
settings.register_profile("brief", deadline=None, max_examples=brief, derandomize=True, database=None)
settings.register_profile("long", deadline=None, max_examples=long, database=None, print_blob=True)
settings.load_profile("long" if LONG else "brief")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if SEED is not None and config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps only the tests that do more in a long run. Each has an hour there, instead of five minutes."""
    if not LONG:
        return
    left_out = [item for item in items if not _looks_longer(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if _looks_longer(item)]
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(3600))


def _looks_longer(item: pytest.Item) -> bool:
    """Whether a test does more in a long run than in a short one."""
    marked = any(item.get_closest_marker(name) for name in ("long", "longer", MARKER))
    return marked or is_hypothesis_test(getattr(item, "obj", None))


def pytest_collection_finish() -> None:
    # Loaded modules stay, so garbage collection need not search them again and again.
    gc.collect()
    gc.freeze()
    # A test makes many objects and keeps few: Python's own threshold of 2,000 costs some per cent of the time.
    gc.set_threshold(50_000)


def pytest_report_header() -> str:
    if SEED is None:
        return "the tests look briefly, the same each time: LAMPLIGHTER_TESTS=long looks for long"
    return f"the tests look for long: LAMPLIGHTER_TESTS=long LAMPLIGHTER_SEED={SEED} looks again at the same"
