"""A pytest plugin: which functions of ours each test runs, and for how long.

Python tells of a function's first start in a test and is silent about it until the next test, which costs next to
nothing (https://docs.python.org/3.13/library/sys.monitoring.html). What a test that fails runs is left out: it would
fail with any change.
"""

import json
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

#: The folder of what was found: a file for each worker, a line for each test.
VARIABLE = "LAMPLIGHTER_REACH"
_SOURCES = f"{Path(__file__).parents[2] / 'lambdas'}{os.sep}"
_MONITORING: Any = getattr(sys, "monitoring", None)
"""None before Python 3.12."""
_TOOL = 1
"""The number that is kept for coverage."""
_reached: set[tuple[str, int]] = set()
_failed: set[str] = set()


def pytest_configure() -> None:
    _MONITORING.use_tool_id(_TOOL, "reach")
    _MONITORING.register_callback(_TOOL, _MONITORING.events.PY_START, _started)
    _MONITORING.set_events(_TOOL, _MONITORING.events.PY_START)


def pytest_unconfigure() -> None:
    _MONITORING.register_callback(_TOOL, _MONITORING.events.PY_START, None)
    _MONITORING.free_tool_id(_TOOL)


def _started(code: CodeType, _offset: int) -> object:
    if code.co_filename.startswith(_SOURCES):
        _reached.add((code.co_filename.removeprefix(_SOURCES), code.co_firstlineno))
    return _MONITORING.DISABLE


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.passed:
        _failed.add(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _reached.clear()
    _MONITORING.restart_events()
    begun = time.monotonic()
    done = yield
    if item.nodeid not in _failed:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        found = {"test": item.nodeid, "seconds": time.monotonic() - begun, "functions": sorted(_reached)}
        with (Path(os.environ[VARIABLE]) / f"{worker}.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(found) + "\n")
    return done
