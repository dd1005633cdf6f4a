"""The planner's reading of course calendars: those at an address are read hourly, the last good copy stays.

Says once what has changed, and what cannot be read; what becomes of events is the calendar's.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.calendar.course import change
from lamplighter.domain.calendar.course_copy import LOOKED_AHEAD, seen, to_say, unseen
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.notices import notification
from lamplighter.domain.notices.announcement import notice
from lamplighter.domain.notices.phrases import detail
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.adapters.aws.notices import Notices
    from lamplighter.domain.calendar.course import Course, CourseEvent
    from lamplighter.domain.calendar.course_copy import CourseCopy
    from lamplighter.lab.model import Lab
    from lamplighter.lab.windows import Window

MOST_POLLED = 4
"""Addresses read in one run, those that waited longest first: a slow one must not hold up the plan."""

MOST_SAID = 5
"""Events that can be no window, named in one notice."""

Fetch = Callable[[str], bytes]


def follow_courses(
    lab: "Lab", ledger: "Ledger", notices: "Notices", now: datetime, fetch: Fetch | None = None
) -> "Mapping[str, Course]":
    """The calendars that the lab's windows follow, by window, read anew where an hour has passed."""
    if all(window.timed for window in lab.windows):
        return {}
    online = [window for window in lab.windows if window.online]
    copies = ledger.course_copies() if online else {}
    if online:
        copies = _Poll(lab, ledger, notices, now, fetch).again(online, copies)
    return _Careful.all(lab, ledger, notices, now, copies)


class _Careful:
    """A window's calendar that opens nothing, aloud, where it cannot be worked out any more.

    A series may outgrow what a reading may cost as the years pass; other windows are none the poorer.
    """

    def __init__(
        self, window: "Window", lab: "Lab", text: str | None, unread: Callable[["Window", str], None]
    ) -> None:
        self._window, self._lab, self._text, self._unread = window, lab, text, unread
        self._course: Course | None = None

    @classmethod
    def all(
        cls,
        lab: "Lab",
        ledger: "Ledger",
        notices: "Notices",
        now: datetime,
        copies: "Mapping[str, CourseCopy]",
    ) -> "dict[str, _Careful]":
        """Every calendar that the lab's windows follow and that was read, by window."""

        def unread(window: "Window", why: str) -> None:
            said = f"the calendar of window {window.name} {why}; until then it opens nothing"
            pool = lab.pool_of(window)
            decision = Decision(f"course-{window.name}-unread-{now:%Y%m%d}", "told", said, now)
            entry = Entry(now, pool, "course-calendar", "planner", said, why)
            if ledger.decide(pool, decision, entry):
                _say(lab, notices, window, said)

        texts = {window: copy.text for window, copy in copies.items() if copy.text is not None}
        followed = [window for window in lab.windows if not window.timed]
        return {
            window.name: cls(window, lab, texts.get(window.name), unread)
            for window in followed
            if not window.online or window.name in texts
        }

    def events(self, zone: str, start: int, end: int) -> "Sequence[CourseEvent]":
        """As any calendar's; none where it cannot be worked out."""
        from lamplighter.adapters.calendars.course import courses  # noqa: PLC0415 -- few labs follow a calendar

        try:
            if self._course is None:
                alone = self._lab.model_copy(update={"windows": [self._window]})
                read = {} if self._text is None else {self._window.name: self._text}
                self._course = courses(alone, read).get(self._window.name)
            return [] if self._course is None else self._course.events(zone, start, end)
        except BadInput as error:
            self._unread(self._window, str(error))
            return []


class _Poll:
    def __init__(
        self, lab: "Lab", ledger: "Ledger", notices: "Notices", now: datetime, fetch: Fetch | None
    ) -> None:
        from lamplighter.adapters.calendars import web  # noqa: PLC0415 -- http is paid for by few

        self._lab, self._ledger, self._notices, self._now = lab, ledger, notices, now
        self._fetch = fetch or web.fetch
        self._host = web.host_of

    def again(self, online: "list[Window]", copies: "Mapping[str, CourseCopy]") -> "dict[str, CourseCopy]":
        """Read what is due; each address once, whoever follows it."""
        names = {window.name for window in online}
        for gone in set(copies) - names:
            self._ledger.forget_course_copy(gone)
        after = {name: copy for name, copy in copies.items() if name in names}
        due = [
            window
            for window in online
            if window.name not in copies or copies[window.name].is_due(window.calendar or "", self._now)
        ]
        due.sort(key=lambda window: copies[window.name].tried.timestamp() if window.name in copies else 0)
        addresses = list(dict.fromkeys(window.calendar or "" for window in due))[:MOST_POLLED]
        read = {address: self._read(address) for address in addresses}
        for window in due:
            if window.calendar in read:
                after[window.name] = self._kept(window, copies.get(window.name), *read[window.calendar])
        return after

    def _read(self, address: str) -> tuple[str | None, str]:
        """The calendar's text with what of it is left out or in doubt, or why there is none."""
        from lamplighter.adapters.calendars import text  # noqa: PLC0415

        try:
            found = text.read(self._fetch(address))
        except OutsideFailed as error:
            return None, str(error)
        except BadInput as error:
            return None, f"what stands at {self._host(address)} {error}"
        left_out = "; ".join(found.faults[:MOST_SAID])
        said = [f"left out: {left_out}"] if left_out else []
        return found.text, "; ".join([*said, *found.doubts[:MOST_SAID]])

    def _kept(
        self, window: "Window", before: "CourseCopy | None", text: str | None, remark: str
    ) -> "CourseCopy":
        address, clock = window.calendar or "", clock_of(zones.zone(self._lab.zone_of(window)))
        old = self._known(window, before)
        new: list[CourseEvent] = []
        if text is not None:
            try:
                new = self._events(window, text)
            except BadInput as error:
                text, remark = None, str(error)
        if text is None:
            after, new = unseen(before, address, remark, self._now), old
        else:
            after = seen(address, text, self._now)
        said = to_say(window.name, before, after, change(old, new), clock)
        self._ledger.keep_course_copy(window.name, after)
        if said is not None:
            self._say(window, f"{said}; {remark}" if remark and text is not None else said, after)
        return after

    def _known(self, window: "Window", before: "CourseCopy | None") -> "list[CourseEvent]":
        """The events of the copy that is kept; none where it has outgrown what a reading may cost."""
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

    def _say(self, window: "Window", said: str, copy: "CourseCopy") -> None:
        """Say it once: also where two planners read at the same time."""
        pool = self._lab.pool_of(window)
        told = hashlib.sha256(f"{said}{copy.text}".encode()).hexdigest()[:12]
        decision = Decision(f"course-{window.name}-{told}-{self._now:%Y%m%dT%H}", "told", said, self._now)
        why = copy.problem or "its calendar was read"
        entry = Entry(self._now, pool, "course-calendar", "planner", said, why)
        if self._ledger.decide(pool, decision, entry):
            _say(self._lab, self._notices, window, said)


def _say(lab: "Lab", notices: "Notices", window: "Window", said: str) -> None:
    texts = Texts(lab.notify.language)
    told = notice(
        "calendar",
        texts,
        lambda texts: texts.say("notice.calendar.subject", window=window.name),
        detail(texts, said),
    )
    notices.say(notification.of(lab.name, lab.pool_of(window), told))
