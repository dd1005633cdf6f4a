"""What people changed about the calendar without a deploy: dates taken out of it, and pauses of the lab.

Owns what each means and how a sentence names it; deciding on one is skipping.py's and pausing.py's,
keeping it the ledger's.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from lamplighter.reasons.reason import Said

Clock = Callable[[datetime], str]
"""How a sentence names an instant: by the lab's own clock."""


@dataclass(frozen=True, slots=True)
class Skip:
    """One date of a window on which it does not open, by a person's word."""

    window: str
    date: str
    """The local start date, YYYY-MM-DD."""
    by: str
    at: datetime
    because: Said | None = None

    def reason(self) -> str:
        """`evening on 2026-11-20 was skipped by alice because of the holiday`."""
        return f"{self.window} on {self.date} was skipped by {self.by}{said_because(self.because)}"


@dataclass(frozen=True, slots=True)
class Pause:
    """No pool opens until an instant, or until somebody resumes the lab; what is open closes as usual."""

    by: str
    at: datetime
    until: datetime | None = None
    because: Said | None = None
    closing: bool = False
    """Made by the last close: the lab is being destroyed, and the next deploy ends it."""
    failed: bool = False
    """That destroy failed: the lab is still there, and people may resume it."""

    def in_force(self, at: datetime) -> bool:
        """Whether nothing opens at this instant."""
        return self.until is None or at < self.until

    def reason(self, clock: Clock) -> str:
        """`the lab is paused until 20:00 on 2026-11-20 (Asia/Seoul), by alice because of the exams`."""
        if self.failed:
            return "a destroy of the lab failed, and nothing opens until somebody resumes it"
        if self.closing:
            return "the lab is being destroyed, and nothing opens any more"
        until = f"until {clock(self.until)}" if self.until else "until somebody resumes it"
        return f"the lab is paused {until}, by {self.by}{said_because(self.because)}"


@dataclass(frozen=True, slots=True)
class Changes:
    """What may keep one lease from opening, as the ledger says at this moment."""

    pauses: tuple[Pause, ...] = ()
    skip: Skip | None = None
    """Of the window's very date."""

    def keeps_closed(self, at: datetime, clock: Clock) -> str | None:
        """Why nothing of the lease opens at an instant, or None."""
        pause = paused_at(self.pauses, at)
        if pause is not None:
            return pause.reason(clock)
        return self.skip.reason() if self.skip else None


def paused_at(pauses: Iterable[Pause], at: datetime) -> Pause | None:
    """The pause that keeps everything closed at this instant; the one that lasts longest."""
    there = [pause for pause in pauses if pause.in_force(at)]
    endless = [pause for pause in there if pause.until is None]
    if endless:
        # A destroy is the stronger word: resuming does not end it.
        return max(endless, key=lambda pause: pause.closing)
    return max(there, key=lambda pause: pause.until or pause.at, default=None)


def said_because(reason: Said | None) -> str:
    """A person's reason behind a sentence, where there is one: they wrote it behind the word `because`."""
    return f" because {reason}" if reason else ""


def said(reason: Said | None) -> str:
    """A reason of ours, a sentence of its own, behind another."""
    return f": {reason}" if reason else ""


def clock_of(zone: ZoneInfo) -> Clock:
    """A clock in a zone, as sentences read it."""
    return lambda at: f"{at.astimezone(zone):%H:%M on %Y-%m-%d} ({zone.key})"
