"""The curfew: a time of the day in the lab's zone at which AWS itself brings a pool to zero.

Owns when that is and the minutes after it without leases. Schedules in the template bring the pool to zero without
this code; grants, extensions and the planner end leases at the curfew.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

KEPT_FREE = timedelta(minutes=10)
"""For so long after the curfew no lease runs: the last retry of its schedules falls into that time."""
SECOND_RAIL = timedelta(minutes=5)
"""So long after the first schedule, a second one makes the call that passes the first one's service by."""
MINUTES_A_DAY = 24 * 60
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Curfew:
    """One time of every day; `minute` counts from midnight."""

    minute: int
    zone: ZoneInfo

    def first(self, opens: datetime, closes: datetime) -> datetime | None:
        """The first curfew whose ten minutes [curfew, curfew + 10 minutes) meet [opens, closes); UTC."""
        return next(iter(self._between(opens - KEPT_FREE, closes)), None)

    def at(self, instant: datetime) -> datetime | None:
        """The curfew in whose ten minutes an instant lies."""
        return self.first(instant, instant + timedelta(microseconds=1))

    def ends(self, opens: datetime, closes: datetime) -> datetime:
        """When a lease over [opens, closes) ends: at the first curfew in it, or at `closes`.

        The result is no later than `opens` for a lease that would open in a curfew's ten minutes.
        """
        curfew = self.first(opens, closes)
        return closes if curfew is None else curfew

    def _between(self, after: datetime, before: datetime) -> Iterator[datetime]:
        """Every curfew in the open range (after, before), in order."""
        day = after.astimezone(self.zone).date() - _DAY
        while day <= before.astimezone(self.zone).date() + _DAY:
            yield from (
                instant for instant in instants(day, self.minute, self.zone) if after < instant < before
            )
            day += _DAY


def schedule_names(pool: str, rails: tuple[str, str]) -> tuple[str, str]:
    """The names of a pool's two schedules in the lab's schedule group, in their order, by the names of their ways."""
    first, second = rails
    return f"curfew-{pool}-{first}", f"curfew-{pool}-{second}"


def instants(day: date, minute: int, zone: ZoneInfo) -> list[datetime]:
    """The instants at which a clock shows this time on this date: one, two in autumn, none in a spring gap.

    Scheduler skips a time in a gap, and fires once for a time that comes twice. AWS does not document which of the two
    it takes, so no lease runs at either.
    """
    wall = datetime.combine(day, time(minute // 60, minute % 60))
    readings = {wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(reading for reading in readings if reading.astimezone(zone).replace(tzinfo=None) == wall)
