"""A pytest plugin: the workers of all sessions collect one after another, and a long run only what is in it.

In a new checkout the first one compiles what all of them import, half a minute of work; the others find it done.
Of ten files of small tests, nine have no test that does more in a long run, and need not be imported there.
"""

import fcntl
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.lengths import LONG

LOCK = ROOT / ".build" / "collection.lock"
#: What a file says that has a test of a long run (tests/conftest.py): a file of tests marks its own.
MARKS = re.compile(r"mark\.long|once_flaky|hypothesis")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out a file without such a test."""
    is_file_of_tests = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return (
        True if LONG and is_file_of_tests and not MARKS.search(collection_path.read_text("utf-8")) else None
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    if not hasattr(session.config, "workerinput"):
        return (yield)
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return (yield)
