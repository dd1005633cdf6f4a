"""Step AnnounceClasses: says once what was left undone for a class. The opening or the close goes on in any case."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lamplighter.application.notices.delivery import say_once
from lamplighter.application.run import command_of, pool_of, result
from lamplighter.domain.granting.closing import failure
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.lab.notice_kinds import CLASS
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Reason, Said, paragraph, reason

if TYPE_CHECKING:
    from lamplighter.application.notices.services import NoticeServices


def announce_classes(run: Mapping[str, object], notice_services: "NoticeServices") -> dict[str, object]:
    """Tell a failure of KeepClasses, and that the namespace of this lease's class is not the lab's."""
    pool, command, done = pool_of(run, notice_services.lab), command_of(run), result(run, "KeepClasses")
    granted = result(run, "Admit").get("lease")
    lease = granted if isinstance(granted, Mapping) else {}
    whose = str(lease.get("id") or command.lease or "") or None
    announcement = _failed(done) or _left_alone(done, str(lease.get("window")), notice_services)
    if announcement is None:
        return {"announced": False, "kind": None}
    return say_once(pool, announcement, whose, notice_services, f"class-{command.id}")


def _failed(done: Mapping[str, object]) -> Announcement | None:
    if "Error" not in done:
        return None
    why = failure(f"{done['Error']}: {done.get('Cause')}")
    return _notice(reason("notice.class.subject"), why, reason("notice.class.made-up-for"))


def _left_alone(
    done: Mapping[str, object], window: str, notice_services: "NoticeServices"
) -> Announcement | None:
    terms = next((one.class_ for one in notice_services.lab.windows if one.name == window), None)
    rows = done.get("refused")
    for row in rows if terms and isinstance(rows, Sequence) else ():
        if terms and isinstance(row, Mapping) and row.get("namespace") == terms.namespace:
            subject = reason("notice.class.subject.one", namespace=terms.namespace)
            return _notice(subject, read(row.get("why")), reason("notice.class.opens-all-the-same"))
    return None


def _notice(subject: Reason, why: Said | None, then: Reason) -> Announcement:
    return Announcement(CLASS, subject, paragraph(why, then))
