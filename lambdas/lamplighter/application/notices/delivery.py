"""A notice is sent in the lab's language, by the lab's clock, and its entry stands in the trail."""

from lamplighter.adapters.aws.notices import Sent
from lamplighter.application.notices.services import NoticeServices
from lamplighter.application.single_notice import once
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.notices import notification
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.domain.notices.phrases import clock_of_day


def say_once(
    pool: str,
    said: Announcement,
    lease: str | None,
    notice_services: NoticeServices,
    key: str,
    **details: str,
) -> dict[str, object]:
    """Send it and write its entry, once under this key, however many runs come to it."""
    entry = entry_of(pool, said, lease, notice_services, **details)
    told = once(notice_services.ledger, key, entry, lambda: send(pool, said, notice_services))
    return {"announced": told, "kind": said.kind}


def send(pool: str, said: Announcement, notice_services: NoticeServices) -> Sent:
    """Send it, and say whether somebody took it."""
    texts = notice_services.texts
    clock = clock_of_day(texts, notice_services.zone, notice_services.now())
    return notice_services.notices.say(notification.of(notice_services.lab.name, pool, said, texts, clock))


def entry_of(
    pool: str, said: Announcement, lease: str | None, notice_services: NoticeServices, **details: str
) -> Entry:
    """Its entry in the trail; `details` are more of it."""
    return Entry(
        at=notice_services.now(),
        pool=pool,
        kind="warned" if said.kind == "warned" else "announced",
        who="notices",
        what=said.plain or said.subject,
        why=said.text,
        lease=lease,
        details={
            "notice": said.kind,
            **said.refusal,
            **({"move": said.move} if said.move else {}),
            **details,
        },
    )
