"""What the doctor says of one thing: whether it is as it should be, and if not, what to do.

What could not be read is never taken for well: it is not known, and says which call on what was refused.
"""

from dataclasses import dataclass
from enum import StrEnum


class LineOutcome(StrEnum):
    """Whether something is as it should be."""

    OK = "ok"
    NOT_OK = "not-ok"
    NOT_KNOWN = "not-known"

    @property
    def words(self) -> str:
        """As people read it."""
        return self.value.replace("-", " ")


@dataclass(frozen=True, slots=True)
class Unread:
    """Something that could not be read, and why: which call on what was refused."""

    why: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a check makes of what was read."""

    outcome: LineOutcome
    said: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class DoctorLine:
    """A judgement and the name of its check."""

    check: str
    outcome: LineOutcome
    said: str
    advice: str

    def to_json(self) -> dict[str, str]:
        """One row of `doctor --json`."""
        return {
            "check": self.check,
            "outcome": self.outcome.value,
            "said": self.said,
            "advice": self.advice,
        }


def well(said: str) -> Judgement:
    """It is as it should be."""
    return Judgement(LineOutcome.OK, said)


def unwell(said: str, advice: str) -> Judgement:
    """It is not, and this is what to do."""
    return Judgement(LineOutcome.NOT_OK, said, advice)


def unknown(why: Unread | str, advice: str = "") -> Judgement:
    """Nobody can tell, and why."""
    return Judgement(LineOutcome.NOT_KNOWN, why.why if isinstance(why, Unread) else why, advice)
