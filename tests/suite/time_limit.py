"""A pytest plugin: after a given time, a long run begins no more tests, and names the files of those that it left.

Machines differ several times in speed, and one machine from day to day, but CI waits only so long. A slow machine plays
a part of the long run, a quick one all of it. LAMPLIGHTER_BEGIN_UNTIL is the time, in seconds since 1970.
"""

import os
import time
from collections import Counter

import pytest

VARIABLE = "LAMPLIGHTER_BEGIN_UNTIL"
NOT_BEGUN = "not begun, because the time of this run was over"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Before any fixture of the test begins."""
    if time.time() > float(os.environ.get(VARIABLE, "inf")):
        pytest.skip(NOT_BEGUN)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    files = Counter(
        report.nodeid.partition("::")[0]
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and NOT_BEGUN in report.longrepr[2]
    )
    for file, number in sorted(files.items()):
        terminalreporter.write_line(f"NOT BEGUN: {number} of {file}")
