"""Judges the output of the CUDA sample vectorAdd, which runs one kernel on a GPU and checks its sums."""

import re

from lamplighter.domain.checks.verdicts.tool_output import lines
from lamplighter.domain.checks.verdicts.verdict import (
    QUOTED,
    Verdict,
    crashed,
    ended_badly,
    failed,
    not_proven,
    passed,
)
from lamplighter.reasons.reason import reason

_WENT_WRONG = re.compile(
    r"Test FAILED|Result verification failed|error code|CUDA error|no CUDA-capable device|CUDA driver version"
)


def vector_add(text: str, exit_code: int) -> Verdict:
    """Passed needs the line `Test PASSED` and exit code 0."""
    printed = [line.text.strip() for line in lines(text)]
    error_line = next((line for line in printed if _WENT_WRONG.search(line)), None)
    measurements = {"exit_code": exit_code}
    if error_line:
        return failed(reason("check.vectoradd.failed", line=error_line[:QUOTED]), measurements)
    if ending := ended_badly(exit_code) or crashed(text):
        return not_proven(reason("check.vectoradd.not-proven", why=ending), measurements)
    if "Test PASSED" not in printed:
        return not_proven(reason("check.vectoradd.no-result"), measurements)
    return passed(reason("check.vectoradd.passed"), measurements)
