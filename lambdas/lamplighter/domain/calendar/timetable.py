"""Which windows a lab's calendar has open at an instant, pool by pool.

Windows with the same hours are open at the same instants, so hours are asked, once each, and windows only
look theirs up. Whether they have a lease is standing.py's question.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import attrgetter

from lamplighter.domain.calendar.course import Course
from lamplighter.domain.calendar.hours import Hours, Opening, open_days
from lamplighter.domain.calendar.occurrences import Range, expand_course
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.lab.model import Lab
from lamplighter.lab.windows import Window
from lamplighter.values.zones import EPOCH

SECOND = timedelta(seconds=1)
_IN_ORDER = attrgetter("order", "opening")


class Timetable:
    """The windows of a lab, worked out once, to be asked about any instant.

    `courses` are the calendars that windows follow, by window; one that is not there has no events.
    """

    def __init__(self, lab: Lab, courses: Mapping[str, Course] | None = None) -> None:
        self._lab = lab
        self._pools: defaultdict[str, _Pool] = defaultdict(_Pool)
        self._hours: dict[Hours, int] = {}
        for order, window in enumerate(lab.windows):
            pool = self._pools[lab.pool_of(window)]
            if window.timed:
                pool.hours.append(self._hours.setdefault(Hours.of(lab, window), len(self._hours)))
                pool.windows.append((window.name, lab.nodes_of(window), lab.owner_of(window), order))
            elif courses and window.name in courses:
                pool.following.append((order, window, courses[window.name]))

    def open_at(self, at: datetime) -> "OpenWindows":
        """The windows that are open at an instant."""
        seconds = (at.astimezone(UTC) - EPOCH) // SECOND
        days = {zone: tuple(open_days(zone, seconds)) for zone in {hours.zone for hours in self._hours}}
        openings = [hours.open_at(seconds, days[hours.zone]) for hours in self._hours]
        return OpenWindows(self._lab, self._pools, openings, seconds)


class OpenWindows(Mapping[str, Sequence[PlannedWindow]]):
    """The windows that are open at one instant, by pool; pools without one are left out.

    A pool's are put together when somebody asks for them: going through all pools needs no more memory
    than one.
    """

    def __init__(
        self,
        lab: Lab,
        pools: "Mapping[str, _Pool]",
        openings: Sequence[tuple[Opening, ...]],
        seconds: int,
    ) -> None:
        self._lab, self._pools, self._openings, self._seconds = lab, pools, openings, seconds

    def of(self, name: str) -> Sequence[PlannedWindow]:
        """A pool's, in the file's order; empty where there are none."""
        pool = self._pools.get(name)
        if pool is None:
            return ()
        found: list[PlannedWindow] = []
        for place, hours in enumerate(pool.hours):
            for day, opens, closes, notes in self._openings[hours]:
                window, nodes, owner, order = pool.windows[place]
                found.append(PlannedWindow(window, name, day, nodes, opens, closes, notes, owner, order))
        if pool.following:
            found.extend(self._followed(pool))
            found.sort(key=_IN_ORDER)
        return found

    def __getitem__(self, name: str) -> Sequence[PlannedWindow]:
        found = self.of(name)
        if not found:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return filter(self.of, self._pools)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _followed(self, pool: "_Pool") -> Iterator[PlannedWindow]:
        now = Range(self._seconds, self._seconds, self._seconds + 1)
        for order, window, course in pool.following:
            yield from expand_course(self._lab, window, order, course, now).windows


@dataclass(frozen=True, slots=True)
class _Pool:
    """The windows of one pool: their hours, by number, apart from the rest, which few are asked for."""

    hours: list[int] = field(default_factory=list)
    windows: list[tuple[str, int, str, int]] = field(default_factory=list)
    """Name, nodes, owner and order of each of them."""
    following: list[tuple[int, Window, Course]] = field(default_factory=list)
