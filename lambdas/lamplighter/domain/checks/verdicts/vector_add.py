"""Reads the CUDA sample vectorAdd: one kernel that ran on a GPU and gave the right sums."""

import re

from lamplighter.domain.checks.verdicts.tool_output import lines
from lamplighter.domain.checks.verdicts.verdict import (
    Verdict,
    crashed,
    ended_badly,
    failed,
    not_proven,
    passed,
)

_WENT_WRONG = re.compile(
    r"Test FAILED|Result verification failed|error code|CUDA error|no CUDA-capable device|CUDA driver version"
)


def vector_add(text: str, exit_code: int) -> Verdict:
    """Judges what vectorAdd printed. Passed needs its own line `Test PASSED` and exit code 0."""
    printed = [line.text.strip() for line in lines(text)]
    wrong = next((line for line in printed if _WENT_WRONG.search(line)), None)
    measured = {"exit_code": exit_code}
    if wrong:
        return failed(f"vectorAdd failed: {wrong[:200]}", measured)
    if badly := ended_badly(exit_code) or crashed(text):
        return not_proven(f"vectorAdd proved nothing: {badly}", measured)
    if "Test PASSED" not in printed:
        return not_proven("vectorAdd did not print 'Test PASSED'", measured)
    return passed("vectorAdd ran on a GPU and its sums are right", measured)
