"""The buttons under the lab's messages: the action of each, and the value that it carries.

A pressed button takes the same path as a typed command. Its value is compact JSON with one-letter keys, since Slack
allows 2,000 characters.
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
    """Close another person's lease, after the answer named its owner."""
    KEEP = "keep"
    WHY = "why"
    ASK = "ask"
    APPROVE = "approve"
    DECLINE = "decline"
    TELL_ME = "tell-me"
    TAKE = "take"
    """Take what the waiting list offers."""
    MOVE = "move"
    """Move a lease to a fallback pool."""
    BOOK = "book"
    """Open at a free time. Several stand side by side: the others are `book:2` and so on."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a button is about. Each button sets only the fields that it needs."""

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
    """Of `approve` and `decline` the request; of `take` the place in the waiting list; of `book` what was refused."""
    confirmed: bool = False
    """Of `close`: the button's own dialog has named the owner."""

    def written(self) -> str:
        """The button's value. A reason that is too long is cut."""
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
    """Reads a button's value; BadInput where the lab did not write it."""
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
