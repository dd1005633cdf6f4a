"""What the planner says aloud, once each: a window that does not open, will not, or will after all.

Written to the trail first and said then; the same thing is said again only when it changes.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.notices import Notices
from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices import notification
from lamplighter.domain.notices.announcement import Announcement, notice
from lamplighter.domain.notices.phrases import reason
from lamplighter.reasons.reason import Said, draw
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.domain.calendar.occurrences import SkippedWindow
    from lamplighter.lab.model import Lab

WHO = "planner"
Told = Callable[[Texts, str], Announcement]
"""What is said, once its language and its reason are known."""


class PlannerNotices:
    """The lab, its trail and where it speaks."""

    def __init__(self, lab: "Lab", ledger: Ledger, notices: Notices, now: datetime) -> None:
        self._lab, self._ledger, self._notices, self._now = lab, ledger, notices, now
        self._texts = Texts(lab.notify.language)

    def does_not_open(self, skipped: "SkippedWindow") -> None:
        """An exception of the lab, or a window of which a clock change leaves nothing."""
        what = f"window {skipped.window} does not open on {skipped.date}"
        about = {"window": skipped.window, "date": f"{skipped.date}"}
        why = Entry(self._now, skipped.pool, "skipped", WHO, what, skipped.reason, details=about)
        one = f"{skipped.date}-{skipped.event}" if skipped.event else f"{skipped.date}"
        said = _of_window("not-opening", "notice.not-opening.subject", skipped.window, skipped.date)
        self._once(f"skip-{skipped.window}-{one}", "skipped", why, said)

    def did_not_open(self, lease: Lease, why: Said) -> None:
        """A planned window whose time went by: the lab was paused, or nobody decided on it."""
        what = f"window {lease.window} did not open on {lease.date}"
        entry = Entry(self._now, lease.pool, "missed", WHO, what, why, lease.id)
        said = _of_window("missed", "notice.missed.subject", lease.window, lease.date)
        self._once(f"missed-{lease.id}", "missed", entry, said)

    def outlook(self, lease: Lease, before: Said | None) -> None:
        """A planned window that will be refused as things stand, or will be granted after all."""
        if lease.refusal == before:
            return
        if lease.refusal is None:
            why: Said
            what, why = f"window {lease.window} opens on {lease.date} after all", f"no longer so: {before}"
            key = "notice.foreseen.subject.over"
        else:
            what, why = f"window {lease.window} will not open on {lease.date}", lease.refusal
            key = "notice.foreseen.subject"
        self._ledger.append_audit(
            Entry(self._now, lease.pool, "foreseen", WHO, what, why, lease.id, lease.nodes)
        )
        self._say(lease.pool, why, _of_window("foreseen", key, lease.window, lease.date))

    def planned(self, lease: Lease, notes: Mapping[str, str]) -> None:
        """For the trail alone: a window became a lease-to-be, or says something else than before."""
        why = notes.get(lease.id) or f"window {lease.window} of the lab names {lease.date}"
        what = f"planned {lease.called()} on pool {lease.pool}"
        self._ledger.append_audit(
            Entry(self._now, lease.pool, "planned", WHO, what, why, lease.id, lease.nodes)
        )

    def taken_back(self, lease: Lease) -> None:
        """For the trail alone: who took it back has said so."""
        what = f"took back {lease.called()} on pool {lease.pool}"
        why = "the lab or a person no longer has it in the calendar"
        self._ledger.append_audit(Entry(self._now, lease.pool, "unplanned", WHO, what, why, lease.id))

    def put_right(self, pool: str, names: Sequence[str]) -> None:
        """For the trail alone: schedules that somebody changed or took away, or that a pause moves."""
        what = f"put right {', '.join(names)}"
        why = "Scheduler had it otherwise than leases and pauses ask for now"
        self._ledger.append_audit(Entry(self._now, pool, "rescheduled", WHO, what, why))

    def _once(self, key: str, outcome: str, why: Entry, said: Told) -> None:
        if self._ledger.decide(why.pool, Decision(key, outcome, why.why, self._now), why):
            self._say(why.pool, why.why, said)

    def _say(self, pool: str, why: Said, said: Told) -> None:
        why = draw(why, self._texts, clock_of(zones.zone(self._lab.time_zone)))
        self._notices.say(notification.of(self._lab.name, pool, said(self._texts, why)))


def _of_window(kind: str, subject: str, window: str | None, date: object) -> Told:
    return lambda texts, why: notice(
        kind, texts, lambda texts: texts.say(subject, window=window, date=date), reason(texts, why)
    )
