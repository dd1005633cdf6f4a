"""Reads recording.json."""

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("recording.json")


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that was done or seen. `at` is in real seconds from the event's begin."""

    at: float
    what: str
    claim: int | None = None
    says: str = ""


def moments(event: str) -> tuple[Moment, ...]:
    """One event, in order."""
    return tuple(Moment(**each) for each in json.loads(FILE.read_text("utf-8"))["events"][event])


def lives(found: tuple[Moment, ...]) -> dict[int, list[str]]:
    """What each claim came to, in order."""
    claims: dict[int, list[str]] = {}
    for moment in found:
        if moment.claim is not None:
            claims.setdefault(moment.claim, []).append(moment.what)
    return claims
