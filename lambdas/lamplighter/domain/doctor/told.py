"""The monthly visit as a notice: what is to be done first, then what nobody could tell, then how many are well."""

from collections.abc import Sequence

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.doctor.line import Line, Outcome
from lamplighter.domain.notices.announcement import Announcement, notice


def of_visit(lines: Sequence[Line], texts: Texts = ENGLISH) -> Announcement:
    """What a visit says aloud; one line when all is well, so that its silence is noticed."""
    wrong, unknown = of(lines, Outcome.NOT_OK), of(lines, Outcome.NOT_KNOWN)
    say = texts.say
    said = [
        *(say("notice.doctor.line", check=one.check, said=one.said, advice=one.advice) for one in wrong),
        *(say("notice.doctor.unknown", check=one.check, said=one.said) for one in unknown),
        say("notice.doctor.count", ok=len(of(lines, Outcome.OK)), wrong=len(wrong), unknown=len(unknown)),
    ]
    return notice("doctor", texts, lambda texts: _subject(texts, len(wrong)), "\n".join(said))


def _subject(texts: Texts, wrong: int) -> str:
    if not wrong:
        return texts.say("notice.doctor.subject.well")
    return texts.say("notice.doctor.subject", count=wrong)


def of(lines: Sequence[Line], outcome: Outcome) -> list[Line]:
    """The lines that came out so."""
    return [line for line in lines if line.outcome is outcome]
