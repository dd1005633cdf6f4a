"""The notice of an examination: first what to do, then what is not known, then how many checks are ok."""

from collections.abc import Sequence

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.doctor.line import DoctorLine, LineOutcome
from lamplighter.domain.notices.announcement import Announcement, notice
from lamplighter.reasons.reason import Clock, Reason, Said, draw, reason
from lamplighter.values.clock_time import clock_time


def of_examination(
    lines: Sequence[DoctorLine], texts: Texts = ENGLISH, clock: Clock = clock_time
) -> Announcement:
    """The notice of one examination. It is sent even when all is well, so that people notice a missing one."""
    wrong, unknown = with_outcome(lines, LineOutcome.NOT_OK), with_outcome(lines, LineOutcome.NOT_KNOWN)
    ok = len(with_outcome(lines, LineOutcome.OK))
    say = texts.say

    def drawn(said: Said) -> str:
        return draw(said, texts, clock)

    rows = [
        *(
            say("notice.doctor.line", check=line.check, said=drawn(line.said), advice=drawn(line.advice))
            for line in wrong
        ),
        *(say("notice.doctor.unknown", check=line.check, said=drawn(line.said)) for line in unknown),
        say("notice.doctor.count", ok=ok, wrong=len(wrong), unknown=len(unknown)),
    ]
    return notice("doctor", texts, lambda texts: _subject(texts, len(wrong)), "\n".join(rows))


def in_short(lines: Sequence[DoctorLine]) -> Reason:
    """The result of an examination, as the trail keeps it."""
    wrong = len(with_outcome(lines, LineOutcome.NOT_OK))
    if not wrong:
        return reason("notice.doctor.subject.well")
    return reason("notice.doctor.subject", count=wrong)


def _subject(texts: Texts, wrong: int) -> str:
    if not wrong:
        return texts.say("notice.doctor.subject.well")
    return texts.say("notice.doctor.subject", count=wrong)


def with_outcome(lines: Sequence[DoctorLine], outcome: LineOutcome) -> list[DoctorLine]:
    """The lines with this outcome."""
    return [line for line in lines if line.outcome is outcome]
