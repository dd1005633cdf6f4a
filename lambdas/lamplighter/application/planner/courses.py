"""The planner reads course calendars: those at an address every hour; the last good copy stays.

It says once what has changed and what cannot be read. The domain's calendar turns events into windows.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.application.failures import going_on
from lamplighter.application.single_notice import once
from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.course import change
from lamplighter.domain.calendar.course_copy import LOOKED_AHEAD, news, seen, unseen
from lamplighter.domain.notices import notification, phrases
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.reasons.document import one_line
from lamplighter.reasons.reason import Reason, Said, Sentences, reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.adapters.aws.notices import Notices, Sent
    from lamplighter.domain.calendar.course import Course, CourseEvent
    from lamplighter.domain.calendar.course_copy import CourseCopy
    from lamplighter.lab.model import Lab
    from lamplighter.lab.windows import Window

MOST_POLLED = 4
"""Addresses read in one run, those that waited longest first: a slow one must not hold up the plan."""

Fetch = Callable[[str, str | None], bytes]
"""Reads an address, with the secret of an ARN or none."""


def fetch_calendar(address: str, secret: str | None) -> bytes:
    """The content at an address, read with the login in the secret of this ARN, if there is one."""
    from lamplighter.adapters.aws import secrets  # noqa: PLC0415
    from lamplighter.adapters.calendars import web  # noqa: PLC0415

    return web.fetch(address, authorization=None if secret is None else secrets.authorization(secret))


def follow_courses(
    lab: "Lab",
    ledger: "Ledger",
    notices: "Notices",
    now: datetime,
    fetch: Fetch | None = None,
    *,
    failures: list[str] | None = None,
) -> "Mapping[str, Course] | None":
    """The calendars that the lab's windows follow, by window; those read an hour ago are read again.

    Where one calendar's copy cannot be kept, the last one serves. None where the ledger does not say how they were.
    Both are noted in `failures`.
    """
    failures = [] if failures is None else failures
    if all(window.timed for window in lab.windows):
        return {}
    with going_on(failures, "course calendars"):
        online = [window for window in lab.windows if window.online]
        copies = ledger.course_copies() if online else {}
        if online:
            copies = _Poll(lab, ledger, notices, now, fetch, failures=failures).again(online, copies)
        return _CheckedCourse.all(lab, ledger, notices, now, copies, failures=failures)
    return None


class _CheckedCourse:
    """A window's calendar that has no events, and says so, where they cannot be worked out any more.

    A series may outgrow the limits of a reading as the years pass; other windows still open.
    """

    def __init__(
        self, window: "Window", lab: "Lab", text: str | None, unusable: Callable[["Window", Said], None]
    ) -> None:
        self._window, self._lab, self._text, self._unusable = window, lab, text, unusable
        self._course: Course | None = None

    @classmethod
    def all(
        cls,
        lab: "Lab",
        ledger: "Ledger",
        notices: "Notices",
        now: datetime,
        copies: "Mapping[str, CourseCopy]",
        *,
        failures: list[str],
    ) -> "dict[str, _CheckedCourse]":
        """Every calendar that the lab's windows follow and that was read, by window."""

        def unusable(window: "Window", fault: Said) -> None:
            what = reason("calendar.course.opens-nothing", window=window.name, fault=fault)
            pool = lab.pool_of(window)
            entry = Entry(now, pool, "course-calendar", "planner", what, fault)
            key = f"course-{window.name}-unread-{now:%Y%m%d}"
            with going_on(failures, f"calendar {window.name}"):
                once(ledger, key, entry, lambda: _send(lab, notices, window, what))

        texts = {window: copy.text for window, copy in copies.items() if copy.text is not None}
        followed = [window for window in lab.windows if not window.timed]
        return {
            window.name: cls(window, lab, texts.get(window.name), unusable)
            for window in followed
            if not window.online or window.name in texts
        }

    def events(self, zone: str, start: int, end: int) -> "Sequence[CourseEvent]":
        """The events of the calendar; none where they cannot be worked out."""
        from lamplighter.adapters.calendars.course import courses  # noqa: PLC0415 -- few labs follow a calendar

        try:
            if self._course is None:
                alone = self._lab.model_copy(update={"windows": [self._window]})
                read = {} if self._text is None else {self._window.name: self._text}
                self._course = courses(alone, read).get(self._window.name)
            return [] if self._course is None else self._course.events(zone, start, end)
        except BadInput as error:
            self._unusable(self._window, error.said)
            return []


class _Poll:
    def __init__(
        self,
        lab: "Lab",
        ledger: "Ledger",
        notices: "Notices",
        now: datetime,
        fetch: Fetch | None,
        *,
        failures: list[str],
    ) -> None:
        from lamplighter.adapters.calendars import web  # noqa: PLC0415 -- few labs need http

        self._lab, self._ledger, self._notices, self._now = lab, ledger, notices, now
        self._fetch, self._failures = fetch or fetch_calendar, failures
        self._host = web.host_of

    def again(self, online: "list[Window]", copies: "Mapping[str, CourseCopy]") -> "dict[str, CourseCopy]":
        """Read the addresses that are due, each once, however many windows follow it."""
        names = {window.name for window in online}
        for deleted in set(copies) - names:
            with going_on(self._failures, f"calendar {deleted}"):
                self._ledger.forget_course_copy(deleted)
        after = {name: copy for name, copy in copies.items() if name in names}
        due = [
            window
            for window in online
            if window.name not in copies or copies[window.name].is_due(window.calendar or "", self._now)
        ]
        due.sort(key=lambda window: copies[window.name].tried.timestamp() if window.name in copies else 0)
        sources = list(dict.fromkeys(_source(window) for window in due))[:MOST_POLLED]
        read = {source: self._read(*source) for source in sources}
        for window in due:
            if _source(window) in read:
                with going_on(self._failures, f"calendar {window.name}"):
                    after[window.name] = self._kept(window, copies.get(window.name), *read[_source(window)])
        return after

    def _read(self, address: str, secret: str | None) -> tuple[str | None, Said | None]:
        """The calendar's text, with what of it is left out or in doubt; or None, with the problem."""
        from lamplighter.adapters.calendars import text  # noqa: PLC0415

        try:
            calendar = text.read(self._fetch(address, secret))
        except OutsideFailed as error:
            return None, error.said
        except BadInput as error:
            return None, reason("calendar.web.no-calendar", host=self._host(address), fault=error.said)
        remarks: list[Said] = []
        if calendar.faults:
            remarks.append(reason("calendar.course.left-out", events=Sentences(calendar.faults)))
        if calendar.doubts:
            remarks.append(Sentences(calendar.doubts))
        return calendar.text, Sentences(tuple(remarks)) if remarks else None

    def _kept(
        self, window: "Window", before: "CourseCopy | None", text: str | None, remark: Said | None
    ) -> "CourseCopy":
        address = window.calendar or ""
        old = self._known(window, before)
        new: list[CourseEvent] = []
        if text is not None:
            try:
                new = self._events(window, text)
            except BadInput as error:
                text, remark = None, error.said
        if text is None:
            after, new = unseen(before, address, remark or "", self._now), old
        else:
            after = seen(address, text, self._now)
        told: Reason | Sentences | None = news(window.name, before, after, change(old, new))
        if told is not None:
            what = Sentences((told, remark)) if remark and text is not None else told
            if not self._say(window, what, before, after):
                return after
        self._ledger.keep_course_copy(window.name, after)
        return after

    def _known(self, window: "Window", before: "CourseCopy | None") -> "list[CourseEvent]":
        """The events of the copy in the ledger; none where it has outgrown the limits of a reading."""
        if before is None or before.text is None:
            return []
        try:
            return self._events(window, before.text)
        except BadInput:
            return []

    def _events(self, window: "Window", text: str) -> "list[CourseEvent]":
        from lamplighter.adapters.calendars.course import CourseCalendar  # noqa: PLC0415

        until = self._now + LOOKED_AHEAD
        zone = self._lab.zone_of(window)
        return list(CourseCalendar(text).events(zone, int(self._now.timestamp()), int(until.timestamp())))

    def _say(
        self,
        window: "Window",
        what: Reason | Sentences,
        before: "CourseCopy | None",
        after: "CourseCopy",
    ) -> bool:
        """Say it before the copy is kept: a run that comes again finds the same news. Whether somebody took it."""
        last = before.tried if before else None
        digest = hashlib.sha256(f"{one_line(what)}{after.text}{last}".encode()).hexdigest()[:12]
        why = after.problem or reason("calendar.course.read")
        entry = Entry(self._now, self._lab.pool_of(window), "course-calendar", "planner", what, why)
        key = f"course-{window.name}-{digest}"
        return once(self._ledger, key, entry, lambda: _send(self._lab, self._notices, window, what))


def _source(window: "Window") -> tuple[str, str | None]:
    """The address of a window's calendar, and the ARN of its secret."""
    return window.calendar or "", window.calendar_secret


def _send(lab: "Lab", notices: "Notices", window: "Window", what: Said) -> "Sent":
    """Send a notice in the lab's language; its times are in the window's zone."""
    texts = Texts(lab.notify.language)
    clock = phrases.clock_and_date(texts, zones.zone(lab.zone_of(window)))
    subject = reason("notice.calendar.subject", window=window.name)
    announcement = Announcement("calendar", subject, phrases.decision_sentence(what))
    return notices.say(notification.of(lab.name, lab.pool_of(window), announcement, texts, clock))
