"""A stretch of time laid out in pixels, with ticks at round times of the lab's clock."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080)
"""Minutes between ticks that a person would choose."""
APART = 60
"""Pixels that a tick's time needs."""
LEAST = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Axis:
    """[begins, ends] over so many pixels from the left."""

    begins: datetime
    ends: datetime
    left: float
    width: float

    def x(self, at: datetime) -> float:
        """Where an instant is; what lies outside is at the edge."""
        share = (at - self.begins) / max(self.ends - self.begins, LEAST)
        return self.left + self.width * min(1.0, max(0.0, share))

    def ticks(self, zone: ZoneInfo) -> list[datetime]:
        """Round times by the clock of the zone, so few that their labels stand apart."""
        whole = max(self.ends - self.begins, LEAST)
        most = max(1, int(self.width / APART))
        step = next((each for each in STEPS if whole / timedelta(minutes=each) <= most), STEPS[-1])
        # By the wall clock as it is at the beginning: after a clock change inside, ticks stand at odd hours.
        offset = self.begins.astimezone(zone).utcoffset() or timedelta()
        apart = timedelta(minutes=step)
        epoch = datetime(1970, 1, 5, tzinfo=UTC) - offset
        first = epoch + -(-(self.begins - epoch) // apart) * apart
        return [
            first + apart * number
            for number in range(int((self.ends - first) / apart) + 1)
            if first <= self.ends
        ]
