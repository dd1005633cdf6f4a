"""What every message of the board is written with: the language, the lab's clock, and how names are shown.

Names of people are shown without a mention here: a mention pings, and who is pinged is thread.py's to say.
"""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from lamplighter.data.texts import Texts
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.money.money import Money
from lamplighter.domain.slack.asked.person import id_in
from lamplighter.domain.slack.blocks import Marked, plain
from lamplighter.reasons.reason import Said, draw


@dataclass(frozen=True, slots=True)
class SlackStyle:
    """How a lab shows things in Slack, at an instant."""

    texts: Texts
    zone: ZoneInfo
    now: datetime
    command: str = "gpu"
    """The lab's slash command."""

    def say(self, key: str, /, **values: object) -> Marked:
        """A text of the catalogue; values that somebody wrote are plain already."""
        return Marked(self.texts.say(f"slack.{key}", **values))

    def clock(self, at: datetime) -> str:
        """`23:00 (Asia/Seoul)`; with its date where that is not today's."""
        there, today = at.astimezone(self.zone), self.now.astimezone(self.zone).date()
        if there.date() == today:
            return self.texts.say("words.clock", time=f"{there:%H:%M}", zone=self.zone.key)
        return self.texts.say(
            "words.clock-and-date", time=f"{there:%H:%M}", date=f"{there:%Y-%m-%d}", zone=self.zone.key
        )

    def told(self, kept: Said | None) -> Marked:
        """A reason that was kept, by the lab's clock, as a sentence, harmless."""
        said = self.drawn(kept).strip()
        if not said:
            return Marked("")
        return plain(f"{said[:1].upper()}{said[1:]}{'' if said.endswith(('.', '!', '?')) else '.'}")

    def drawn(self, said: Said | None) -> str:
        """A reason in the lab's language, by the lab's clock."""
        return draw(said, self.texts, clock_of(self.zone))


def named(owner: str | None) -> str:
    """Somebody by name, without the id that mentions them."""
    known = id_in(owner)
    return (owner or "").removesuffix(f"({known})").strip() if known else owner or ""


def amount(money: Money) -> str:
    """`1.24 USD`."""
    return str(money)
