"""How a page writes instants, lengths, money, outcomes and reasons: in the lab's language and time zone.

The words are the catalogue's (data/texts).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from lamplighter.data.texts import DEFAULT, Texts, languages
from lamplighter.domain.commands.command import SOURCES
from lamplighter.domain.leases.usual_times import Usual
from lamplighter.domain.money.money import Money
from lamplighter.pages.html import Html, el
from lamplighter.reasons.reason import Said, as_sentence, draw
from lamplighter.values import zones
from lamplighter.values.instant import written

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

MINUTE = timedelta(minutes=1)
SHORT_LENGTH = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Wording:
    """What a page of one lab is written with."""

    texts: Texts
    zone: ZoneInfo

    @property
    def language(self) -> str:
        """What the page is written in; a language that there is no file of is English."""
        return self.texts.language if self.texts.language in languages() else DEFAULT

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of `page.<key>`."""
        return self.texts.say(f"page.{key}", **values)

    def clock(self, at: datetime) -> str:
        """`20:00`."""
        return f"{at.astimezone(self.zone):%H:%M}"

    def second(self, at: datetime) -> str:
        """`20:00:31`."""
        return f"{at.astimezone(self.zone):%H:%M:%S}"

    def day(self, at: datetime) -> str:
        """`Tue 1 Dec 2026`, or as the language has it."""
        here = at.astimezone(self.zone)
        return self(
            "day",
            weekday=self(f"weekday.{here.isoweekday()}"),
            day=here.day,
            month=self(f"month.{here.month}"),
            year=here.year,
        )

    def short_day(self, at: datetime) -> str:
        """`Tue 1 Dec`."""
        here = at.astimezone(self.zone)
        return self(
            "short-day",
            weekday=self(f"weekday.{here.isoweekday()}"),
            day=here.day,
            month=self(f"month.{here.month}"),
        )

    def moment(self, at: datetime) -> str:
        """`Tue 1 Dec 20:00`."""
        return f"{self.short_day(at)} {self.clock(at)}"

    def stretch(self, begins: datetime, ends: datetime) -> str:
        """`Tue 1 Dec 20:00-21:00`, with the second day where it is another."""
        same = begins.astimezone(self.zone).date() == ends.astimezone(self.zone).date()
        return f"{self.moment(begins)}–{self.clock(ends) if same else self.moment(ends)}"  # noqa: RUF001

    def zone_at(self, at: datetime) -> str:
        """`Asia/Seoul, UTC+09:00`."""
        offset = f"{at.astimezone(self.zone):%z}"
        return f"{self.zone.key}, UTC{offset[:3]}:{offset[3:5]}"

    def length(self, of: timedelta) -> str:
        """`45 s`, `4 min 12 s`, `52 min`, `1 h 30 min`."""
        seconds = round(of.total_seconds())
        minutes, left = divmod(seconds, 60)
        if of < MINUTE:
            return self("length.seconds", seconds=seconds)
        if of < SHORT_LENGTH and left:
            return self("length.both", minutes=minutes, seconds=left)
        hours, minutes = divmod(round(seconds / 60), 60)
        if not hours:
            return self("length.minutes", minutes=minutes)
        return self("length.hours", hours=hours, minutes=f"{minutes:02}")

    def usually(self, usual: Usual) -> str:
        """`usually 2 min 5 s`, as earlier openings took; or how much is normal."""
        key = "warm-up.usually" if usual.measured else "warm-up.normally"
        return self(key, length=self.length(usual.length))

    def money(self, of: Money) -> str:
        """`2.41 USD`: with two places, and more only of what would else be nothing."""
        return f"{of.shown():,f} {of.currency}"

    def outcome(self, verdict: str) -> str:
        """`passed`, `failed`, `not proven`."""
        known = {"passed", "failed", "not-proven"}
        return self(f"outcome.{verdict}") if verdict in known else verdict

    def source(self, source: str) -> str:
        """Where a lease was asked for: `Slack`, `the command line`."""
        return self(f"source.{source}") if source in SOURCES else source

    def told(self, said: Said | None) -> str:
        """A reason in the lab's language, with its instants in the lab's zone."""
        return draw(said, self.texts, self.moment)

    def sentence(self, text: str) -> str:
        """A drawn text with a full stop, and in English with a capital."""
        return as_sentence(text, self.texts)

    def time(self, at: datetime, said: str) -> Html:
        """An instant that programs can read too."""
        return el("time", said, datetime=written(at))


def of(lab: "Lab") -> Wording:
    """As the lab writes: its language, its zone."""
    return Wording(Texts(lab.notify.language), zones.zone(lab.time_zone))
