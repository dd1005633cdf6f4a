"""How Slack shows times to a person: by their own clock, with the date only where it is not today's.

They are digits alone, so they read the same in every language.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Times:
    """One person's clock at an instant."""

    zone: ZoneInfo
    now: datetime

    def at(self, instant: datetime) -> str:
        """`22:30`, or `2026-12-04 20:00` on another day."""
        local = instant.astimezone(self.zone)
        if local.date() == self.now.astimezone(self.zone).date():
            return f"{local:%H:%M}"
        return f"{local:%Y-%m-%d %H:%M}"

    def span(self, opens: datetime, closes: datetime) -> str:
        """`22:30-23:30`, with the date of the beginning where that is another day."""
        until = (
            f"{closes.astimezone(self.zone):%H:%M}" if closes - opens < timedelta(days=1) else self.at(closes)
        )
        return f"{self.at(opens)}-{until}"

    def with_zone(self, instant: datetime) -> str:
        """The same with the name of the zone, for sentences that stand alone."""
        return f"{self.at(instant)} ({self.zone.key})"
