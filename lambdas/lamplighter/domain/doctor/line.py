"""What the doctor says of one thing: whether it is as it should be, and if not, what to do.

What could not be read is never taken for well: it is not known, and says which call on what was refused.
"""

from dataclasses import dataclass
from enum import StrEnum

from lamplighter.reasons.reason import Said


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

    why: Said


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a check makes of what was read."""

    outcome: LineOutcome
    said: Said
    advice: Said = ""


@dataclass(frozen=True, slots=True)
class DoctorLine:
    """A judgement and the name of its check."""

    check: str
    outcome: LineOutcome
    said: Said
    advice: Said

    def to_json(self) -> dict[str, str]:
        """One row of `doctor --json`."""
        return {
            "check": self.check,
            "outcome": self.outcome.value,
            "said": str(self.said),
            "advice": str(self.advice),
        }


def well(said: Said) -> Judgement:
    """It is as it should be."""
    return Judgement(LineOutcome.OK, said)


def unwell(said: Said, advice: Said) -> Judgement:
    """It is not, and this is what to do."""
    return Judgement(LineOutcome.NOT_OK, said, advice)


def unknown(why: Unread | Said, advice: Said = "") -> Judgement:
    """Nobody can tell, and why."""
    return Judgement(LineOutcome.NOT_KNOWN, why.why if isinstance(why, Unread) else why, advice)
