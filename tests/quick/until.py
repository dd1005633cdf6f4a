"""A pytest plugin: after a moment no test begins, and the summary says how many were left out."""

import os
import time

import pytest

#: The moment, in seconds of time.time().
VARIABLE = "LAMPLIGHTER_QUICK_UNTIL"
_LEFT_OUT = "no time left for it in make quick"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    if time.time() > float(os.environ[VARIABLE]):
        pytest.skip(_LEFT_OUT)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    left_out = sum(_LEFT_OUT in str(report.longrepr) for report in skipped)
    if left_out:
        terminalreporter.write_line(
            f"LEFT OUT: {left_out} tests of these files, as the time was up; make test runs them."
        )
