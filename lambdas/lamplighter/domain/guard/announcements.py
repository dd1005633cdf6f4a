"""What the guard tells people: that a lease ends early, what a sweep found, that a pool is leaked.

Announcements are codes and values; the guard's services draw them in the lab's language and time zone.
"""

from datetime import datetime

from lamplighter.domain.guard.breach import Breach, Rule
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.domain.notices.phrases import reason_sentence
from lamplighter.reasons.reason import Said, paragraph, reason


def of_early_end(lease: Lease, why: Said, at: datetime) -> Announcement:
    """A lease will end before its time, so that its people can still do something about it."""
    return Announcement(
        "ends-early",
        reason("notice.ends-early.subject", lease=lease.called(), pool=lease.pool, at=at),
        reason("notice.ends-early.text", id=lease.id, owner=lease.owner, reason=why, closes=lease.closes),
    )


def of_taken(pool: str, breach: Breach) -> Announcement:
    """AWS takes Spot nodes of a lease: which, when, and what the lab does then."""
    subject = reason("notice.taken.subject", pool=pool, count=len(breach.instances))
    return Announcement("taken", subject, reason_sentence(breach.reason))


def of_breach(pool: str, breach: Breach) -> Announcement:
    """A sweep found something that needs a person."""
    kind = "leaked" if breach.rule in {Rule.LEAKED, Rule.NO_LONGER_LEAKED} else "guard"
    subject = reason("notice.guard.subject", rule=breach.rule.value, pool=pool)
    return Announcement(kind, subject, reason_sentence(breach.reason))


def of_leak(pool: str, why: Said) -> Announcement:
    """A pool should be at zero and is not."""
    subject = reason("notice.leaked.subject", pool=pool)
    return Announcement("leaked", subject, paragraph(reason("notice.leaked.text", reason=why)))
