"""The monthly examination as a notice: first what to do, then what is not known, then how many checks are ok."""

from collections.abc import Sequence

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.doctor.line import DoctorLine, LineOutcome
from lamplighter.domain.notices.announcement import Announcement, notice
from lamplighter.reasons.reason import Clock, Reason, Said, draw, reason
from lamplighter.values.clock_time import clock_time


def of_examination(
    lines: Sequence[DoctorLine], texts: Texts = ENGLISH, clock: Clock = clock_time
) -> Announcement:
    """The notice of one examination; one line when all is well, so that a missing notice is noticed."""
    wrong, unknown = of(lines, LineOutcome.NOT_OK), of(lines, LineOutcome.NOT_KNOWN)
    say = texts.say

    def drawn(said: Said) -> str:
        return draw(said, texts, clock)

    said = [
        *(
            say("notice.doctor.line", check=one.check, said=drawn(one.said), advice=drawn(one.advice))
            for one in wrong
        ),
        *(say("notice.doctor.unknown", check=one.check, said=drawn(one.said)) for one in unknown),
        say("notice.doctor.count", ok=len(of(lines, LineOutcome.OK)), wrong=len(wrong), unknown=len(unknown)),
    ]
    return notice("doctor", texts, lambda texts: _subject(texts, len(wrong)), "\n".join(said))


def in_short(lines: Sequence[DoctorLine]) -> Reason:
    """What an examination came to, as the trail keeps it."""
    wrong = len(of(lines, LineOutcome.NOT_OK))
    if not wrong:
        return reason("notice.doctor.subject.well")
    return reason("notice.doctor.subject", count=wrong)


def _subject(texts: Texts, wrong: int) -> str:
    if not wrong:
        return texts.say("notice.doctor.subject.well")
    return texts.say("notice.doctor.subject", count=wrong)


def of(lines: Sequence[DoctorLine], outcome: LineOutcome) -> list[DoctorLine]:
    """The lines that came out so."""
    return [line for line in lines if line.outcome is outcome]
