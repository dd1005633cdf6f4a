"""Tests that failed now and then: a long run repeats each of them on a loaded machine.

The marker `once_flaky(cause)` names the cause. docs/explanation/flaky-tests.md lists all of them, with the mend.
"""

import subprocess
import sys
from collections.abc import Generator

import pytest

from tests.lengths import LONG

MARKER = "once_flaky"
TIMES = 20
#: As many as the cores of the smallest machine that runs the tests.
BUSY_PROGRAMS = 2
BUSY = [sys.executable, "-I", "-S", "-c", "while True: pass"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if LONG and metafunc.definition.get_closest_marker(MARKER) is not None:
        metafunc.fixturenames.append("repetition")
        metafunc.parametrize("repetition", range(1, TIMES + 1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Programs use every core while such a test runs, its fixtures included."""
    loaded = LONG and item.get_closest_marker(MARKER) is not None
    programs = [subprocess.Popen(BUSY) for _ in range(BUSY_PROGRAMS if loaded else 0)]
    try:
        return (yield)
    finally:
        for program in programs:
            program.kill()
            program.wait()
