"""The small parts that sentences to people are made of, in their language: instants, leases, reasons.

Whole sentences are in the catalogue (data/texts.py); which one is said is announcement.py's.
"""

from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.leases.lease import Lease


def clock(texts: Texts, zone: ZoneInfo) -> Callable[[datetime], str]:
    """An instant of today: `23:00 (Asia/Seoul)`."""
    return lambda at: texts.say("words.clock", time=f"{at.astimezone(zone):%H:%M}", zone=zone.key)


def clock_and_date(texts: Texts, zone: ZoneInfo) -> Callable[[datetime], str]:
    """An instant of any day: `23:00 on 2026-12-01 (Asia/Seoul)`."""

    def told(at: datetime) -> str:
        there = at.astimezone(zone)
        return texts.say(
            "words.clock-and-date", time=f"{there:%H:%M}", date=f"{there:%Y-%m-%d}", zone=zone.key
        )

    return told


def called(texts: Texts, lease: Lease) -> str:
    """How a sentence names a lease: `the evening lease` or `alice's lease`."""
    if lease.window:
        return texts.say("lease.of-window", window=lease.window)
    return texts.say("lease.of-owner", owner=lease.owner)


def reason(texts: Texts, why: str) -> str:
    """Why it is so, as a sentence of its own; empty where nobody said."""
    return texts.say("words.reason", reason=sentence(why)) if why.strip() else ""


def detail(texts: Texts, what: str) -> str:
    """What was decided, as a sentence of its own; empty where nobody said."""
    return texts.say("words.detail", detail=sentence(what)) if what.strip() else ""


def begun(texts: Texts, said: str) -> str:
    """A text that begins with a name, as a sentence: only English writes it with a capital there."""
    return sentence(said) if texts == ENGLISH else f"{said}{'' if said.endswith('.') else '.'}"


def sentence(text: str) -> str:
    """With a capital first and a full stop last."""
    text = text.strip()
    if not text:
        return ""
    return f"{text[:1].upper()}{ended(text[1:])}"


def ended(text: str) -> str:
    """With a full stop last, unless it ends already, as a question does."""
    return text if text.endswith((".", "?")) else f"{text}."
