"""The result of checking a window again before it opens: a grade, and the findings that explain it.

window.py makes one, the ledger keeps the last one of each window and date, and every plan shows it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lamplighter.reasons.reason import Reason, Said, Sentences, paragraph, reason


class Grade(StrEnum):
    """Whether a window can open."""

    READY = "ready"
    IN_DOUBT = "in-doubt"
    NOT_READY = "not-ready"


@dataclass(frozen=True, slots=True)
class ReadinessFinding:
    """One thing that keeps a window from opening, or may do so, and what to do about it."""

    check: str
    grade: Grade
    said: Said
    advice: Said = ""

    @property
    def name(self) -> str:
        """The same for the same fault, whatever its figures are."""
        code = self.said.code if isinstance(self.said, Reason) else ""
        return f"{self.grade}:{self.check}:{code}"


TOLD_ELSEWHERE = frozenset({"outlook", "pause"})
"""Checks whose news the planner, or the person who paused the lab, has told already."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What was found for a window on a date."""

    lease: str
    pool: str
    window: str
    date: str
    opens: datetime
    at: datetime
    """When the lab checked it."""
    findings: tuple[ReadinessFinding, ...] = ()
    unread: tuple[str, ...] = ()
    """Checks without an answer. They change no grade."""

    @property
    def grade(self) -> Grade:
        """The worst of its findings."""
        return _worst(one.grade for one in self.findings)

    @property
    def said(self) -> Reason:
        """The grade with the time of the check, and the findings."""
        word = reason(f"doctor.readiness.{self.grade}")
        if not self.findings:
            return reason("doctor.readiness.shown", grade=word, at=self.at)
        why = tuple(finding.said for finding in self.findings)
        return reason("doctor.readiness.shown.why", grade=word, at=self.at, why=Sentences(why))

    @property
    def news(self) -> "tuple[ReadinessFinding, ...]":
        """The findings that nothing else tells people."""
        return tuple(one for one in self.findings if one.check not in TOLD_ELSEWHERE)

    def told(self, before: Mapping[str, str] | None = None) -> Mapping[str, str]:
        """What two checks must share for the second one to be no news.

        A finding of the one before that could not be read now is not over.
        """
        earlier = (before or {}).get("findings", "").split()
        names = {one.name for one in self.news}
        names |= {name for name in earlier if name.partition(":")[2].partition(":")[0] in self.unread}
        return {
            "grade": _worst(name.partition(":")[0] for name in names),
            "findings": " ".join(sorted(names)),
        }

    @property
    def text(self) -> Said:
        """Each of the news with what to do."""
        if not self.news:
            return paragraph(reason("doctor.readiness.all-well"))
        return paragraph(*(_line(finding) for finding in self.news))

    @property
    def subject(self) -> Reason:
        """The news in one line."""
        worst = _worst(one.grade for one in self.news)
        return reason(f"notice.readiness.subject.{worst}", window=self.window, date=self.date or "-")


def is_news(readiness: Readiness, before: Mapping[str, str] | None) -> bool:
    """Whether people are told: of the first check only bad news, then each change of grade or findings."""
    if before is None:
        return bool(readiness.news)
    told = readiness.told(before)
    return told != {key: before.get(key) for key in told}


def _line(finding: ReadinessFinding) -> Said:
    if not finding.advice:
        return finding.said
    return reason("doctor.readiness.line.advice", said=finding.said, advice=finding.advice)


def _worst(grades: Iterable[str]) -> Grade:
    found = set(grades)
    return next((grade for grade in (Grade.NOT_READY, Grade.IN_DOUBT) if grade in found), Grade.READY)
