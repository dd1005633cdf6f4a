"""Time zones by IANA name, from the pinned tzdata package, and the days on which their clocks stand still."""

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

DAY = 86_400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_ORDINAL = EPOCH.toordinal()
_STEP = DAY // 2


@cache
def names() -> frozenset[str]:
    """Every zone of the pinned list."""
    return frozenset(available_timezones())


@cache
def zone(name: str) -> ZoneInfo:
    """A zone of the list; KeyError for any other name."""
    if name not in names():
        raise KeyError(name)
    return ZoneInfo(name)


def instant(seconds: int) -> datetime:
    """Seconds since 1970 as an instant in UTC."""
    return EPOCH + timedelta(seconds=seconds)


def offset_at(where: ZoneInfo, seconds: int) -> int:
    """Seconds that a zone's clocks are ahead of UTC at an instant; OverflowError outside years 1 to 9999."""
    ahead = instant(seconds).astimezone(where).utcoffset()
    return int(ahead.total_seconds()) if ahead is not None else 0


def change_within(where: ZoneInfo, low: int, high: int) -> int | None:
    """The first second in (low, high] with another offset than `low`, if `high` has another."""
    before = offset_at(where, low)
    if offset_at(where, high) == before:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if offset_at(where, middle) == before:
            low = middle
        else:
            high = middle
    return high


class SteadyDays:
    """The days around which a zone keeps one offset, so that wall clock and instants differ by it alone.

    Samples twice a day: no zone has ever changed its clocks and changed them back within twelve hours.
    """

    def __init__(self, where: ZoneInfo) -> None:
        self._where = where
        self._samples: dict[int, int | None] = {}
        self._days: dict[int, int | None] = {}

    def offset(self, ordinal: int) -> int | None:
        """The offset that holds from a day before this local date to two days after it; None where it changes."""
        if ordinal in self._days:
            return self._days[ordinal]
        noon = 2 * (ordinal - EPOCH_ORDINAL)
        first = self._sample(noon - 3)
        same = first is not None and all(self._sample(noon + step) == first for step in range(-2, 7))
        found = self._days[ordinal] = first if same else None
        return found

    def local_day(self, seconds: int) -> int:
        """The ordinal of the local date at an instant."""
        day = seconds // DAY + EPOCH_ORDINAL
        ahead = self.offset(day)
        if ahead is None:
            ahead = offset_at(self._where, seconds)
        return (seconds + ahead) // DAY + EPOCH_ORDINAL

    def offsets_around(self, seconds: int) -> tuple[int, int]:
        """The least and the greatest offset within three days of an instant."""
        here = seconds // _STEP
        samples = [self._sample(half_day) for half_day in range(here - 6, here + 8)]
        known = {sample for sample in samples if sample is not None}
        return min(known), max(known)

    def _sample(self, half_day: int) -> int | None:
        if half_day not in self._samples:
            try:
                self._samples[half_day] = offset_at(self._where, half_day * _STEP)
            except OverflowError:
                self._samples[half_day] = None
        return self._samples[half_day]


@cache
def steady_days(name: str) -> SteadyDays:
    """The steady days of a zone, worked out once."""
    return SteadyDays(zone(name))
