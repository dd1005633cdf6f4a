"""One opening of a window, from the wall clock to instants, where clocks may go forward or back.

The rules are the contract's: a time in a gap moves to the end of the gap. An ambiguous end is the first of the two.
An ambiguous start is the first, unless the window would then last longer than by the wall clock.
"""

from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from lamplighter.reasons.reason import Reason, Said, reason
from lamplighter.values import zones
from lamplighter.values.counted import write_duration


class OpeningTimes(NamedTuple):
    """When a window opens and closes, in seconds since 1970, with a note where it differs from the wall clock."""

    opens: int
    closes: int
    notes: tuple[Said, ...]


class _Reading(NamedTuple):
    """The instants that a wall-clock time may mean: one, or two where clocks went back over it."""

    first: int
    second: int


def opening(day: date, start: int, length: timedelta, where: ZoneInfo) -> OpeningTimes:
    """The opening on a date that starts at a minute of the day; closes <= opens where it vanishes."""
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 -- a wall clock has no zone
    begins = _read(midnight + timedelta(minutes=start), where)
    closes = _read(midnight + timedelta(minutes=start) + length, where).first
    wall = int(length.total_seconds())
    opens = begins.first if closes - begins.first <= wall else begins.second
    if closes - opens == wall:
        return OpeningTimes(opens, closes, ())
    return OpeningTimes(opens, closes, (_note(opens, closes, wall, where),))


def _read(wall: datetime, where: ZoneInfo) -> _Reading:
    naive = (wall - datetime(1970, 1, 1)) // timedelta(seconds=1)  # noqa: DTZ001
    ahead = (wall.replace(tzinfo=where, fold=fold).utcoffset() or timedelta(0) for fold in (0, 1))
    before, after = (int(offset.total_seconds()) for offset in ahead)
    if before >= after:
        return _Reading(naive - before, naive - after)
    # A gap: with the later offset the time lies before the change, with the earlier offset after it.
    end = zones.change_within(where, naive - after, naive - before)
    moved = naive - before if end is None else end
    return _Reading(moved, moved)


def _note(opens: int, closes: int, wall: int, where: ZoneInfo) -> Reason:
    change, asked = _change(opens, closes, where), _length(wall)
    if closes <= opens:
        return reason("calendar.clocks.vanishes", asked=asked, change=change)
    return reason("calendar.clocks.lasts", length=_length(closes - opens), asked=asked, change=change)


def _change(opens: int, closes: int, where: ZoneInfo) -> Reason:
    """Which change of the clocks lies in a window or at its edge."""
    low, high = min(opens, closes) - 1, max(opens, closes)
    at = zones.change_within(where, low, high)
    if at is None:
        return reason("calendar.clocks.change", zone=where.key)
    before, after = zones.offset_at(where, at - 1), zones.offset_at(where, at)
    old, new = zones.instant(at + before), zones.instant(at + after)
    shown, date = {"before": f"{old:%H:%M}", "after": f"{new:%H:%M}"}, old.date()
    if after > before:
        return reason("calendar.clocks.forward", zone=where.key, date=date, **shown)
    return reason("calendar.clocks.back", zone=where.key, date=date, **shown)


def _length(seconds: int) -> timedelta | str:
    """A length of time; old clocks were changed by odd seconds, which a duration in minutes would hide."""
    length, odd = timedelta(seconds=seconds), seconds % 60
    return f"{write_duration(length)}{odd}s" if odd else length
