"""How the board writes every message: the language, the clock, and how names are shown.

Names of people are shown without a mention, since a mention notifies them. thread.py decides who is mentioned.
"""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from lamplighter.data.texts import Texts
from lamplighter.domain.money.money import Money
from lamplighter.domain.notices.phrases import clock_of_day
from lamplighter.domain.people.person import id_in
from lamplighter.domain.slack.blocks import Marked, plain
from lamplighter.reasons.reason import Said, as_sentence, draw


@dataclass(frozen=True, slots=True)
class SlackStyle:
    """How a lab shows things in Slack, at an instant."""

    texts: Texts
    zone: ZoneInfo
    now: datetime
    command: str = "gpu"
    """The lab's slash command."""

    def say(self, key: str, /, **values: object) -> Marked:
        """A text of the catalogue. The caller escapes the words of people in its values."""
        return Marked(self.texts.say(f"slack.{key}", **values))

    def clock(self, at: datetime) -> str:
        """`23:00 (Asia/Seoul)`; with its date where that is not today's."""
        return clock_of_day(self.texts, self.zone, self.now)(at)

    def told(self, said: Said | None) -> Marked:
        """A reason as a sentence of its own, with Slack's markup escaped; empty where there is none."""
        return plain(as_sentence(self.drawn(said), self.texts))

    def drawn(self, said: Said | None) -> str:
        """A reason in the lab's language, by the lab's clock."""
        return draw(said, self.texts, self.clock)


def named(owner: str | None) -> str:
    """A person's name, without the Slack id."""
    known = id_in(owner)
    return (owner or "").removesuffix(f"({known})").strip() if known else owner or ""


def amount(money: Money) -> str:
    """`1.24 USD`."""
    return str(money)
