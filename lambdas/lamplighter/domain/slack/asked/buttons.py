"""The buttons under our messages: what each is called in a request, and what it carries.

A pressed button takes the same path as typed words. Its value is compact JSON with one-letter keys, since
Slack allows it 2,000 characters.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

LONGEST_VALUE = 2000
LONGEST_NAME = 300
CUT = "…"


class ButtonAction(StrEnum):
    """The `action_id` of each button."""

    OPEN = "open"
    ADD = "add"
    EXTEND = "extend"
    KEEP_UNTIL = "keep-until"
    CLOSE = "close"
    CONFIRM = "confirm"
    """Close another's lease, after its owner was named."""
    KEEP = "keep"
    WHY = "why"
    ASK = "ask"
    APPROVE = "approve"
    DECLINE = "decline"
    TELL_ME = "tell-me"
    TAKE = "take"
    """Open what the waiting list offers."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a button is about; each says only what it needs."""

    pool: str | None = None
    lease: str | None = None
    nodes: int | None = None
    lasting: timedelta | None = None
    opens: datetime | None = None
    closes: datetime | None = None
    because: str | None = None
    verb: str | None = None
    """Of `ask`: what is asked for, open, add or extend."""
    ask: str | None = None
    """Of `approve` and `decline`; of `take` the wish."""
    confirmed: bool = False
    """Of `close`: the button's own dialog has named the owner."""

    def written(self) -> str:
        """The button's value; of a reason that is too long for it, as much as fits."""
        value, because = self._with(self.because), self.because or ""
        if len(value) <= LONGEST_VALUE:
            return value
        kept = bisect_right(
            range(len(because)), LONGEST_VALUE, key=lambda length: len(self._with(because[:length] + CUT))
        )
        return self._with(because[: max(0, kept - 1)] + CUT)

    def _with(self, because: str | None) -> str:
        said = {
            "p": self.pool,
            "l": self.lease,
            "n": self.nodes,
            "s": None if self.lasting is None else int(self.lasting.total_seconds()),
            "o": _seconds(self.opens),
            "u": _seconds(self.closes),
            "b": because,
            "v": self.verb,
            "a": self.ask,
            "c": 1 if self.confirmed else None,
        }
        kept = {key: value for key, value in said.items() if value is not None}
        return json.dumps(kept, separators=(",", ":"), ensure_ascii=False)


def read(value: str) -> Carried:
    """What a button's value says; BadInput where it is none of ours."""
    try:
        said = json.loads(value or "{}")
    except ValueError:
        raise BadInput(reason("slack.bad-button")) from None
    if not isinstance(said, dict):
        raise BadInput(reason("slack.bad-button"))
    seconds = _whole(said, "s")
    return Carried(
        pool=_text(said, "p"),
        lease=_text(said, "l"),
        nodes=_whole(said, "n"),
        lasting=None if seconds is None else timedelta(seconds=seconds),
        opens=_instant(said, "o"),
        closes=_instant(said, "u"),
        because=_text(said, "b", LONGEST_VALUE),
        verb=_text(said, "v"),
        ask=_text(said, "a"),
        confirmed=said.get("c") == 1,
    )


def _seconds(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp())


def _text(said: Mapping[str, object], key: str, longest: int = LONGEST_NAME) -> str | None:
    value = said.get(key)
    return value[:longest] if isinstance(value, str) and value else None


def _whole(said: Mapping[str, object], key: str) -> int | None:
    value = said.get(key)
    furthest = 10**10  # seconds of an instant in the year 2286
    return value if type(value) is int and 0 < value < furthest else None


def _instant(said: Mapping[str, object], key: str) -> datetime | None:
    value = _whole(said, key)
    return None if value is None else datetime.fromtimestamp(value, UTC)
