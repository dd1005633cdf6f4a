"""The curfew: a time of the day, by the lab's own clock, at which AWS itself brings a pool to zero.

Owns when that is and which stretch no lease may touch. The schedules that do it stand in the template and
need none of this; grants, extensions and the planner end leases at it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

KEPT_FREE = timedelta(minutes=10)
"""From the curfew on, nobody has a lease for so long: its last retry falls into that time."""
SECOND_RAIL = timedelta(minutes=5)
"""So long after EKS was told, the Auto Scaling group is told directly."""
MINUTES_A_DAY = 24 * 60
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Curfew:
    """One time of every day; `minute` counts from midnight."""

    minute: int
    zone: ZoneInfo

    def first(self, opens: datetime, closes: datetime) -> datetime | None:
        """The first curfew whose stretch [curfew, curfew + 10 minutes) meets [opens, closes); UTC."""
        return next(iter(self._between(opens - KEPT_FREE, closes)), None)

    def at(self, instant: datetime) -> datetime | None:
        """The curfew in whose stretch an instant lies."""
        return self.first(instant, instant + timedelta(microseconds=1))

    def ends(self, opens: datetime, closes: datetime) -> datetime:
        """When a lease over [opens, closes) ends: at the first curfew, where one comes first.

        That is no later than `opens` for a lease that would open in a curfew's stretch.
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


def schedule_names(pool: str) -> tuple[str, str]:
    """The names of a pool's two rails in the lab's schedule group: by EKS, and by the Auto Scaling group."""
    return f"curfew-{pool}-eks", f"curfew-{pool}-group"


def instants(day: date, minute: int, zone: ZoneInfo) -> list[datetime]:
    """When a clock shows this time on this date, in UTC: once, twice in autumn, never in a spring gap.

    Scheduler skips a time in a gap, and takes one that comes twice once; which one it takes is not
    documented, so both are kept free.
    """
    wall = datetime.combine(day, time(minute // 60, minute % 60))
    readings = {wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(each for each in readings if each.astimezone(zone).replace(tzinfo=None) == wall)
