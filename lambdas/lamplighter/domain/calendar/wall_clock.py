"""One opening of a window, from the clock on the wall to instants, where clocks may go forward or back.

The rules are the contract's: what falls into a gap moves to its end; an ambiguous end is the first of
the two; an ambiguous start is the first, unless the window would then last longer than by the wall.
"""

from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from lamplighter.values import zones


class Opening(NamedTuple):
    """When a window opens and closes, in seconds since 1970, and what is unlike the clock on the wall."""

    opens: int
    closes: int
    notes: tuple[str, ...]


class _Reading(NamedTuple):
    """What a time on the wall may mean: one instant, or two where clocks went back over it."""

    first: int
    second: int


def opening(day: date, start: int, length: timedelta, where: ZoneInfo) -> Opening:
    """The opening on a date that starts at a minute of the day; closes <= opens where it vanishes."""
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - a clock on a wall has no zone
    begins = _read(midnight + timedelta(minutes=start), where)
    closes = _read(midnight + timedelta(minutes=start) + length, where).first
    wall = int(length.total_seconds())
    opens = begins.first if closes - begins.first <= wall else begins.second
    if closes - opens == wall:
        return Opening(opens, closes, ())
    return Opening(opens, closes, (_note(opens, closes, wall, where),))


def _read(wall: datetime, where: ZoneInfo) -> _Reading:
    naive = (wall - datetime(1970, 1, 1)) // timedelta(seconds=1)  # noqa: DTZ001
    ahead = (wall.replace(tzinfo=where, fold=fold).utcoffset() or timedelta(0) for fold in (0, 1))
    before, after = (int(offset.total_seconds()) for offset in ahead)
    if before >= after:
        return _Reading(naive - before, naive - after)
    # A gap: read with the later offset the time lies before the change, with the earlier one after it.
    end = zones.change_within(where, naive - after, naive - before)
    moved = naive - before if end is None else end
    return _Reading(moved, moved)


def _note(opens: int, closes: int, wall: int, where: ZoneInfo) -> str:
    said = _change(opens, closes, where)
    if closes <= opens:
        return f"nothing is left of its {_minutes(wall)}: {said}"
    return f"lasts {_minutes(closes - opens)} instead of {_minutes(wall)}: {said}"


def _change(opens: int, closes: int, where: ZoneInfo) -> str:
    """Which change of the clocks lies in a window or at its edge, in words."""
    low, high = min(opens, closes) - 1, max(opens, closes)
    at = zones.change_within(where, low, high)
    if at is None:
        return f"clocks in {where.key} change in between"
    before, after = zones.offset_at(where, at - 1), zones.offset_at(where, at)
    old, new = zones.instant(at + before), zones.instant(at + after)
    way = "forward" if after > before else "back"
    return f"clocks in {where.key} go {way} from {old:%H:%M} to {new:%H:%M} on {old:%Y-%m-%d}"


def _minutes(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    minutes, odd = divmod(rest, 60)
    parts = [f"{count} {word}" for count, word in ((hours, "h"), (minutes, "min"), (odd, "s")) if count]
    return " ".join(parts) or "0 min"
