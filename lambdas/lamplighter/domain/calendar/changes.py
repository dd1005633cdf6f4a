"""Changes that people make to the calendar without a deploy: skipped dates, and pauses of the lab.

Owns what each means and its reason. skipping.py and pausing.py decide on a change; the ledger keeps it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from lamplighter.reasons.fields import KEY
from lamplighter.reasons.reason import Reason, Said, reason

Clock = Callable[[datetime], str]
"""How a terminal writes an instant: in the lab's time zone."""


@dataclass(frozen=True, slots=True)
class Skip:
    """One date on which a window does not open, because a person said so."""

    window: str
    date: str
    """The local start date, YYYY-MM-DD."""
    by: str
    at: datetime
    because: Said | None = field(default=None, metadata={KEY: "why"})

    def reason(self) -> Reason:
        """`alice skipped evening on 2026-11-20 because of the holiday`."""
        skipped = reason("calendar.skipped", by=self.by, window=self.window, date=self.date)
        return with_reason(skipped, self.because)


@dataclass(frozen=True, slots=True)
class Pause:
    """No pool opens until an instant, or until somebody resumes the lab; open pools close as usual."""

    by: str
    at: datetime
    until: datetime | None = None
    because: Said | None = field(default=None, metadata={KEY: "why"})
    closing: bool = False
    """The last close makes it: the lab is being destroyed, and the next deploy ends the pause."""
    failed: bool = False
    """That destroy failed: the lab is still there, and people may resume it."""

    def in_force(self, at: datetime) -> bool:
        """Whether nothing opens at this instant."""
        return self.until is None or at < self.until

    def reason(self) -> Reason:
        """`alice paused the lab until 20:00 on 2026-11-20 (Asia/Seoul) because of the exams`."""
        if self.failed:
            return reason("calendar.destroy-failed")
        if self.closing:
            return reason("calendar.destroying")
        if self.until is not None:
            return with_reason(reason("calendar.paused.until", by=self.by, until=self.until), self.because)
        if self.because:
            return reason("calendar.paused.because", by=self.by, because=self.because)
        return reason("calendar.paused", by=self.by)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that may keep one lease from opening, as the ledger has them now."""

    pauses: tuple[Pause, ...] = ()
    skip: Skip | None = None
    """Of the date of the lease's window."""

    def keeps_closed(self, at: datetime) -> Said | None:
        """Why the lease does not open at an instant, or None."""
        pause = paused_at(self.pauses, at)
        if pause is not None:
            return pause.reason()
        return self.skip.reason() if self.skip else None


def paused_at(pauses: Iterable[Pause], at: datetime) -> Pause | None:
    """The pause in force at this instant; of several the one that lasts longest."""
    in_force = [pause for pause in pauses if pause.in_force(at)]
    endless = [pause for pause in in_force if pause.until is None]
    if endless:
        # A destroy comes before other pauses: resuming the lab does not end it.
        return max(endless, key=lambda pause: pause.closing)
    return max(in_force, key=lambda pause: pause.until or pause.at, default=None)


def with_reason(what: Reason, because: Said | None) -> Reason:
    """What a person did, with the words that they gave as its reason behind `because`; None: they gave none."""
    return reason("calendar.because", what=what, because=because) if because else what


def clock_of(zone: ZoneInfo) -> Clock:
    """Writes instants in a zone: `20:00 on 2026-11-20 (Asia/Seoul)`."""
    return lambda at: f"{at.astimezone(zone):%H:%M on %Y-%m-%d} ({zone.key})"
