"""The outcome of a GPU check: passed on evidence, failed on a measurement, or not proven.

Each tool has a parser of its own in this folder. This module has the value that they all return, and what an exit
code or a crash says about any tool.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Reason, Said, reason

QUOTED = 200
"""Characters of a quotation from a tool's output."""

Measurement = str | int | float | None | Sequence["Measurement"] | Mapping[str, "Measurement"]


class Outcome(StrEnum):
    """Without evidence a check does not pass: it is not proven."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_PROVEN = "not-proven"


@dataclass(frozen=True)
class Verdict:
    """One check's outcome with its reason and what was measured."""

    outcome: Outcome
    reason: Said
    measurements: Mapping[str, Measurement] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED

    def to_json(self) -> dict[str, object]:
        """As the contract has it: the reason is English text."""
        return {**self.to_row(), "reason": str(self.reason)}

    def to_row(self) -> dict[str, object]:
        """As the ledger keeps it: the reason is a code with values."""
        return {
            "verdict": self.outcome.value,
            "reason": document(self.reason),
            "measurements": dict(self.measurements),
        }


def passed(why: Said, measurements: Mapping[str, Measurement] | None = None) -> Verdict:
    return Verdict(Outcome.PASSED, why, measurements or {})


def failed(why: Said, measurements: Mapping[str, Measurement] | None = None) -> Verdict:
    return Verdict(Outcome.FAILED, why, measurements or {})


def not_proven(why: Said, measurements: Mapping[str, Measurement] | None = None) -> Verdict:
    return Verdict(Outcome.NOT_PROVEN, why, measurements or {})


def ended_badly(exit_code: int) -> Reason | None:
    """What a non-zero exit code says about the tool; None for 0."""
    match exit_code:
        case 0:
            return None
        case 124:  # of timeout(1)
            return reason("check.tool-timed-out", code=exit_code)
        case 137:  # SIGKILL
            return reason("check.tool-killed", code=exit_code)
        case 143:  # SIGTERM
            return reason("check.tool-terminated", code=exit_code)
        case _:
            return reason("check.tool-exit-code", code=exit_code)


def tool_says(tool: str, line: str) -> Reason:
    """A line of a tool's output, of which the first characters are quoted."""
    return reason("check.tool-says", tool=tool, line=line.strip()[:QUOTED])


def too_many_gpus(gpus: int, instance_type: str, count: int) -> Reason:
    """More GPUs are said to take part than the instance type has."""
    return reason("check.too-many-gpus", type=instance_type, count=count, gpus=gpus)


def unknown_type(instance_type: str) -> Reason:
    """We have no figures of this instance type, so nothing can be judged on it."""
    return reason("check.unknown-type", type=instance_type[:60])


# The shell and Open MPI print these where a signal ended a process and a pipe hid its exit code.
_CRASHED = re.compile(
    r"(?:Segmentation fault|Bus error|Aborted)\b|\*\*\* Process received signal \*\*\*|\(core dumped\)"
)


def crashed(text: str) -> Reason | None:
    """The crash of a process that a tool's output shows, whatever it printed before; None where there is none."""
    crash = _CRASHED.search(text)
    return reason("check.tool-crashed", words=crash[0]) if crash else None
