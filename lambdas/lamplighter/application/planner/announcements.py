"""The planner's notices: a window that does not open, will not open, or opens after all.

The planner writes each to the trail and sends it, once; it says the same thing again only when it changes. A notice
comes before the lease that it is about is written: a run that comes again finds the lease as it was. So does the next
run after a notice that nobody took.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.failures import going_on
from lamplighter.application.single_notice import once
from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import WHOLE_LAB
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices import notification, phrases
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.lab.notice_kinds import CLASS
from lamplighter.reasons.reason import Reason, Said, reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.domain.calendar.course import Course
    from lamplighter.domain.calendar.occurrences import SkippedWindow
    from lamplighter.domain.granting.budget_use import BudgetUse
    from lamplighter.lab.model import Lab

WHO = "planner"
FORESEEN = timedelta(days=3)
"""A refusal is foreseen at most so long before its window opens: the planner looks 36 hours ahead."""


class PlannerNotices:
    """Writes the planner's decisions to the trail, and sends those that people have to know."""

    def __init__(self, lab: "Lab", ledger: Ledger, notices: Notices, now: datetime) -> None:
        self._lab, self._ledger, self._notices, self._now = lab, ledger, notices, now
        self._texts = Texts(lab.notify.language)

    def do_not_open(self, skips: "Iterable[SkippedWindow]", failures: list[str]) -> None:
        """Each of the windows that open on no such date; what cannot be said is noted in `failures`."""
        for skipped in skips:
            with going_on(failures, f"pool {skipped.pool}"):
                self._does_not_open(skipped)

    def _does_not_open(self, skipped: "SkippedWindow") -> None:
        """The lab excepts the date, or a clock change leaves nothing of the window."""
        what = reason("calendar.trail.not-opening", window=skipped.window, date=skipped.date)
        details = {"window": skipped.window, "date": f"{skipped.date}"}
        entry = Entry(self._now, skipped.pool, "skipped", WHO, what, skipped.reason, details=details)
        opening = f"{skipped.date}-{skipped.event}" if skipped.event else f"{skipped.date}"
        subject = reason("notice.not-opening.subject", window=skipped.window, date=skipped.date)
        self._say(f"skip-{skipped.window}-{opening}", entry, "not-opening", subject)

    def did_not_open(self, lease: Lease, why: Said) -> bool:
        """The time of a planned window is over: the lab was paused, or nobody decided on it. Whether it is told."""
        what = reason("calendar.trail.missed", **_named(lease))
        entry = Entry(self._now, lease.pool, "missed", WHO, what, why, lease.id)
        subject = reason("notice.missed.subject", **_named(lease))
        return self._say(f"missed-{lease.id}", entry, "missed", subject)

    def outlook(self, lease: Lease, before: Said | None) -> bool:
        """A planned window that will be refused as things stand, or will be granted after all. Whether it is told."""
        if lease.refusal == before or (lease.refusal is not None and isinstance(before, str)):
            # An older release kept a sentence and has sent it: the same refusal is not sent again as a code.
            return True
        if lease.refusal is None:
            what = reason("calendar.trail.opens-after-all", **_named(lease))
            why: Said = reason("calendar.no-longer", before=before or "")
            subject = reason("notice.foreseen.subject.over", **_named(lease))
        else:
            what, why = reason("calendar.trail.will-not-open", **_named(lease)), lease.refusal
            subject = reason("notice.foreseen.subject", **_named(lease))
        entry = Entry(self._now, lease.pool, "foreseen", WHO, what, why, lease.id, lease.nodes)
        trail = self._ledger.audit(lease.pool, lease.opens - FORESEEN)
        changes = [each.why for each in trail if (each.kind, each.lease) == (entry.kind, lease.id)]
        # The last one is this change where a run before wrote it and did not come to write the lease.
        number = len(changes) - (changes[-1:] == [why])
        return self._say(f"foreseen-{lease.id}-{number}", entry, "foreseen", subject)

    def budget_used(self, use: "BudgetUse", period: str) -> None:
        """So much of a budget is used, or too much is planned: said before a lease is refused for it.

        It is about the whole lab. The first pool's trail has it, since the board reads the trails of pools. A share
        below one that was told is no news: a hold became free.
        """
        pool = next(iter(self._lab.pools))
        above = [
            replace(use, reached=share) for share in self._lab.guard.budget.warn_at if share > use.reached > 0
        ]
        if any(self._ledger.command(pool, f"budget-{period}-{one.key}") is not None for one in above):
            return
        whose, values = ("", {}) if use.owner is None else (".owner", {"owner": use.owner})
        planned = "" if use.reached else ".planned"
        shown = {"share": use.reached} if use.reached else {}
        subject = reason(f"notice.budget.subject{planned}{whose}", period=period, **shown, **values)
        entry = Entry(self._now, pool, "budget", WHO, subject, use.why)
        self._say(f"budget-{period}-{use.key}", entry, "budget", subject, WHOLE_LAB)

    def classes_unused(
        self, known: Mapping[str, Sequence[Lease]], courses: "Mapping[str, Course]", failures: list[str]
    ) -> None:
        """Ask once after the last lease of a class whether its namespace may go: the lab deletes nothing of it."""
        if known.keys() != self._lab.pools.keys() or not any(window.class_ for window in self._lab.windows):
            return
        from lamplighter.domain.classes.unused import unused  # noqa: PLC0415 -- few labs have a class

        with going_on(failures, "classes"):
            leases = [lease for of_pool in known.values() for lease in of_pool]
            for namespace, last in unused(self._lab, leases, courses, self._now):
                subject = reason("notice.class.subject.unused", namespace=namespace, last=last.closes)
                why = reason("notice.class.unused", namespace=namespace, owner=last.owner)
                details = {"notice": CLASS}
                entry = Entry(self._now, last.pool, "announced", WHO, subject, why, last.id, details=details)
                self._say(f"class-unused-{namespace}-{last.id}", entry, CLASS, subject)

    def planned(self, lease: Lease, notes: Mapping[str, Said]) -> None:
        """For the trail alone: a window became a planned lease, or the lease has changed."""
        why = notes.get(lease.id) or reason("calendar.named", **_named(lease))
        what = reason("calendar.trail.planned", lease=lease.called(), pool=lease.pool)
        self._ledger.append_audit(
            Entry(self._now, lease.pool, "planned", WHO, what, why, lease.id, lease.nodes)
        )

    def taken_back(self, lease: Lease) -> None:
        """For the trail alone: the person who took the window back has said so."""
        what = reason("calendar.trail.taken-back", lease=lease.called(), pool=lease.pool)
        why = reason("calendar.no-longer-named")
        self._ledger.append_audit(Entry(self._now, lease.pool, "unplanned", WHO, what, why, lease.id))

    def put_right(self, pool: str, names: Sequence[str]) -> None:
        """For the trail alone: schedules that somebody changed or deleted, or that a pause moves."""
        what = reason("calendar.trail.schedules", schedules=tuple(names))
        why = reason("calendar.schedules-differed")
        self._ledger.append_audit(Entry(self._now, pool, "rescheduled", WHO, what, why))

    def _say(self, key: str, entry: Entry, kind: str, subject: Reason, about: str | None = None) -> bool:
        announcement = Announcement(kind, subject, phrases.reason_sentence(entry.why))
        clock = phrases.clock_and_date(self._texts, zones.zone(self._lab.time_zone))
        notice = notification.of(self._lab.name, about or entry.pool, announcement, self._texts, clock)
        return once(self._ledger, key, entry, lambda: self._notices.say(notice))


def _named(lease: Lease) -> dict[str, str]:
    return {"window": lease.window or lease.id, "date": lease.date or f"{lease.opens:%Y-%m-%d}"}
