"""How times are said to somebody in Slack: by the clock where they are, the date only where it is another.

Digits alone, so that it reads the same in every language.
"""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from lamplighter.data.texts import Texts
from lamplighter.reasons.reason import Said, draw


@dataclass(frozen=True, slots=True)
class Times:
    """One person's clock at one moment."""

    zone: ZoneInfo
    now: datetime

    def at(self, instant: datetime) -> str:
        """`22:30`, or `2026-12-04 20:00` on another day."""
        local = instant.astimezone(self.zone)
        if local.date() == self.now.astimezone(self.zone).date():
            return f"{local:%H:%M}"
        return f"{local:%Y-%m-%d %H:%M}"

    def with_zone(self, instant: datetime) -> str:
        """The same with the name of the zone, for sentences that stand alone."""
        return f"{self.at(instant)} ({self.zone.key})"

    def retold(self, said: Said, texts: Texts) -> str:
        """A reason in these texts' language, with its instants by this clock."""
        return draw(said, texts, self.with_zone)
