"""Step AnnounceReadiness: tells what a check before a window found, where that is news, once.

The doctor's function keeps the result and may write nothing about a pool. The trail says what people were told.
"""

from collections.abc import Mapping
from datetime import timedelta

from lamplighter.application.notices.services import NoticeServices
from lamplighter.application.single_notice import once
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.doctor.readiness import is_news
from lamplighter.domain.notices import notification
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.domain.notices.phrases import clock_and_date
from lamplighter.lab.notice_kinds import READINESS

FIRST = timedelta(days=3)
"""The first check of a window is at most a day before it."""


def announce_readiness(run: Mapping[str, object], notice_services: NoticeServices) -> dict[str, object]:
    """Send the notice of the last check, if its grade or its findings differ from what people were told before."""
    ledger, now = notice_services.ledger, notice_services.now()
    readiness = ledger.readiness(str(run.get("lease")))
    lease = readiness and ledger.lease(readiness.pool, readiness.lease)
    if readiness is None or lease is None or readiness.opens <= now or lease.opens != readiness.opens:
        return {"announced": False, "kind": None}
    trail = ledger.audit(readiness.pool, readiness.opens - FIRST)
    before = [one.details for one in trail if (one.kind, one.lease) == (READINESS, readiness.lease)]
    last = before[-1] if before else None
    changed = is_news(readiness, last)
    if not before and not changed:
        return {"announced": False, "kind": None}
    said = Announcement(READINESS, readiness.subject, readiness.text)
    entry = Entry(
        now,
        readiness.pool,
        READINESS,
        "doctor",
        readiness.subject,
        readiness.text,
        readiness.lease,
        details=readiness.told(last),
    )
    clock = clock_and_date(notice_services.texts, notice_services.zone)
    notice = notification.of(notice_services.lab.name, readiness.pool, said, notice_services.texts, clock)
    # The last entry is this result, too, where a run before wrote it and did not come to send it.
    key = f"readiness-{readiness.lease}-{len(before) - (not changed)}"
    told = once(ledger, key, entry, lambda: notice_services.notices.say(notice))
    return {"announced": told, "kind": READINESS}
