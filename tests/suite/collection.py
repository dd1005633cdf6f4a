"""A pytest plugin: the workers of all sessions collect one after another.

In a new checkout the first one compiles what all of them import, half a minute of work; the others find it done.
"""

import fcntl
from collections.abc import Generator

import pytest

from tests.checkout import ROOT

LOCK = ROOT / ".build" / "collection.lock"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    if not hasattr(session.config, "workerinput"):
        return (yield)
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return (yield)
