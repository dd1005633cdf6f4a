"""One line of the doctor: whether something is ok, and if not, what to do.

A fact that could not be read is never ok. It is not known, with the call that was refused and its object.
"""

from dataclasses import dataclass
from enum import StrEnum

from lamplighter.reasons.reason import Said


class LineOutcome(StrEnum):
    """The result of a check."""

    OK = "ok"
    NOT_OK = "not-ok"
    NOT_KNOWN = "not-known"


@dataclass(frozen=True, slots=True)
class Unread:
    """A fact that could not be read, with the reason: the refused call and its object."""

    why: Said


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of a check, with its reason and advice."""

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


def well(said: Said) -> Judgement:
    """The line of something that is ok."""
    return Judgement(LineOutcome.OK, said)


def unwell(said: Said, advice: Said) -> Judgement:
    """The line of something that is not ok, with what to do."""
    return Judgement(LineOutcome.NOT_OK, said, advice)


def unknown(why: Unread | Said, advice: Said = "") -> Judgement:
    """The line of something that is not known, with the reason."""
    return Judgement(LineOutcome.NOT_KNOWN, why.why if isinstance(why, Unread) else why, advice)
