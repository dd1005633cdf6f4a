"""How notices and Slack write instants, and a reason as a sentence of its own.

The sentences are in the catalogue (data/texts.py); announcement.py and opening.py choose among them.
"""

from datetime import datetime
from zoneinfo import ZoneInfo

from lamplighter.data.texts import Texts
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import Clock, Said, Sentences, paragraph, reason


def clock(texts: Texts, zone: ZoneInfo) -> Clock:
    """An instant of today: `23:00 (Asia/Seoul)`."""
    return lambda at: texts.say("words.clock", time=f"{at.astimezone(zone):%H:%M}", zone=zone.key)


def clock_and_date(texts: Texts, zone: ZoneInfo) -> Clock:
    """An instant of any day: `23:00 on 2026-12-01 (Asia/Seoul)`."""

    def written(at: datetime) -> str:
        there = at.astimezone(zone)
        return texts.say(
            "words.clock-and-date", time=f"{there:%H:%M}", date=f"{there:%Y-%m-%d}", zone=zone.key
        )

    return written


def clock_of_day(texts: Texts, zone: ZoneInfo, now: datetime) -> Clock:
    """An instant with its date only where that is not today's."""
    today, of_today, of_any_day = now.astimezone(zone).date(), clock(texts, zone), clock_and_date(texts, zone)
    return lambda at: of_today(at) if at.astimezone(zone).date() == today else of_any_day(at)


def called(texts: Texts, lease: Lease) -> str:
    """How a sentence names a lease: `the evening lease` or `alice's lease`."""
    if lease.window:
        return texts.say("lease.of-window", window=lease.window)
    return texts.say("lease.of-owner", owner=lease.owner)


def reason_sentence(why: Said) -> Sentences:
    """Why something happened, as a sentence of its own; empty where no reason was given."""
    return paragraph(reason("words.reason", reason=why)) if _says_something(why) else paragraph()


def decision_sentence(decision: Said) -> Sentences:
    """What was decided, as a sentence of its own; empty where it was not said."""
    return paragraph(reason("words.detail", detail=decision)) if _says_something(decision) else paragraph()


def _says_something(said: Said) -> bool:
    return bool(said.strip()) if isinstance(said, str) else True
