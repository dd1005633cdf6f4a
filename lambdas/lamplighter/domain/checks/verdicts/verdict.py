"""The outcome of a GPU check: passed on evidence, failed on a measurement, or not proven.

Owns the value and its wording; each tool's output is read by its own verdict_<tool>.py.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

Measurement = str | int | float | None | Sequence["Measurement"] | Mapping[str, "Measurement"]


class Outcome(StrEnum):
    """There is no silent pass: what cannot be told is not proven."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_PROVEN = "not-proven"


@dataclass(frozen=True)
class Verdict:
    """One check's outcome with its reason and what was measured."""

    outcome: Outcome
    reason: str
    measurements: Mapping[str, Measurement] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED

    def to_json(self) -> dict[str, object]:
        """As the contract has it."""
        return {
            "verdict": self.outcome.value,
            "reason": self.reason,
            "measurements": dict(self.measurements),
        }


def passed(reason: str, measurements: Mapping[str, Measurement] | None = None) -> Verdict:
    return Verdict(Outcome.PASSED, reason, measurements or {})


def failed(reason: str, measurements: Mapping[str, Measurement] | None = None) -> Verdict:
    return Verdict(Outcome.FAILED, reason, measurements or {})


def not_proven(reason: str, measurements: Mapping[str, Measurement] | None = None) -> Verdict:
    return Verdict(Outcome.NOT_PROVEN, reason, measurements or {})


# What a shell or the kubelet reports for a process that was ended from outside: timeout(1), SIGKILL, SIGTERM.
KILLED = {124: "timed out", 137: "was killed", 143: "was told to end"}


def ended_badly(exit_code: int) -> str | None:
    """What a tool's non-zero exit code says about its output; None for 0."""
    if exit_code == 0:
        return None
    how = KILLED.get(exit_code)
    return f"the tool {how} (exit code {exit_code})" if how else f"the tool ended with exit code {exit_code}"


# The shell's and Open MPI's words for a process that a signal ended, where a pipe swallowed its exit code.
_CRASHED = re.compile(
    r"(?:Segmentation fault|Bus error|Aborted)\b|\*\*\* Process received signal \*\*\*|\(core dumped\)"
)


def crashed(text: str) -> str | None:
    """What a tool's output says of a process that crashed, whatever it printed before; None where none did."""
    found = _CRASHED.search(text)
    return f"a process of the tool crashed: {found[0]}" if found else None
