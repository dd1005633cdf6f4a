"""What the guard tells people: that a lease ends early, what a sweep found, that a pool is leaked.

Chooses the words in the lab's language; when somebody is told or paged is decided where it is found.
"""

from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.data.texts import Texts
from lamplighter.domain.guard.breach import Breach, Rule
from lamplighter.domain.guard.leases import early_end
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices.announcement import Announcement, notice
from lamplighter.domain.notices.phrases import clock_and_date, reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab


def of_early_end(lab: "Lab", lease: Lease, why: str, at: datetime) -> Announcement:
    """That a lease will end before its time, so that its people can still do something about it."""
    zone = zones.zone(lab.time_zone)

    def told(texts: Texts) -> tuple[str, str]:
        return early_end(lease, why, at, clock_and_date(texts, zone), texts)

    texts = Texts(lab.notify.language)
    return notice("ends-early", texts, lambda texts: told(texts)[0], told(texts)[1])


def of_breach(lab: "Lab", pool: str, breach: Breach) -> Announcement:
    """What a sweep found that needs a person."""
    texts, rule = Texts(lab.notify.language), breach.rule.value
    kind = "leaked" if breach.rule in {Rule.LEAKED, Rule.NO_LONGER_LEAKED} else "guard"
    return notice(
        kind,
        texts,
        lambda texts: texts.say("notice.guard.subject", rule=rule, pool=pool),
        reason(texts, breach.reason),
    )


def of_leak(lab: "Lab", pool: str, why: str) -> Announcement:
    """That a pool should be at zero and is not."""
    texts = Texts(lab.notify.language)
    return notice(
        "leaked",
        texts,
        lambda texts: texts.say("notice.leaked.subject", pool=pool),
        texts.say("notice.leaked.text", reason=f"{why[:1].upper()}{why[1:]}"),
    )
