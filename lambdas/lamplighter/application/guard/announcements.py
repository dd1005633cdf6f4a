"""What the guard tells people: that a lease ends early, what a sweep found, that a pool is leaked.

Draws each reason in the lab's language and time zone. The callers decide when to notify or page.
"""

from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.guard.breach import Breach, Rule
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices.announcement import Announcement, notice
from lamplighter.domain.notices.phrases import begun, called, clock_and_date
from lamplighter.reasons.reason import Clock, Said, draw
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab


def of_early_end(lab: "Lab", lease: Lease, why: Said, at: datetime) -> Announcement:
    """A lease will end before its time, so that its people can still do something about it."""
    texts = Texts(lab.notify.language)
    clock = _clock(lab, texts)
    text = texts.say(
        "notice.ends-early.text",
        id=lease.id,
        owner=lease.owner,
        reason=draw(why, texts, clock),
        closes=clock(lease.closes),
    )

    def subject(texts: Texts) -> str:
        return texts.say(
            "notice.ends-early.subject",
            lease=called(texts, lease),
            pool=lease.pool,
            at=_clock(lab, texts)(at),
        )

    return notice("ends-early", texts, subject, text)


def of_breach(lab: "Lab", pool: str, breach: Breach) -> Announcement:
    """A sweep found something that needs a person."""
    texts, rule = Texts(lab.notify.language), breach.rule.value
    kind = "leaked" if breach.rule in {Rule.LEAKED, Rule.NO_LONGER_LEAKED} else "guard"
    return notice(
        kind,
        texts,
        lambda texts: texts.say("notice.guard.subject", rule=rule, pool=pool),
        texts.say("words.reason", reason=begun(texts, draw(breach.reason, texts, _clock(lab, texts)))),
    )


def of_leak(lab: "Lab", pool: str, why: Said) -> Announcement:
    """A pool should be at zero and is not."""
    texts = Texts(lab.notify.language)
    drawn = draw(why, texts, _clock(lab, texts))
    return notice(
        "leaked",
        texts,
        lambda texts: texts.say("notice.leaked.subject", pool=pool),
        texts.say("notice.leaked.text", reason=_capital(drawn) if texts == ENGLISH else drawn),
    )


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _clock(lab: "Lab", texts: Texts) -> Clock:
    return clock_and_date(texts, zones.zone(lab.time_zone))
