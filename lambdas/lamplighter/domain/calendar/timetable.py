"""Which windows a lab's calendar has open at an instant, pool by pool.

hours.py works the openings out, once for all windows with the same hours. explanation.py in domain/pool knows which
windows have a lease.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter

from lamplighter.domain.calendar.course import Course
from lamplighter.domain.calendar.hours import Days, Hours, Opening, Range
from lamplighter.domain.calendar.occurrences import expand_course
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.lab.model import Lab
from lamplighter.lab.windows import Window

_IN_ORDER = attrgetter("order", "opening")


class Timetable:
    """The windows of a lab, prepared once for questions about any instant.

    `courses` are the calendars that windows follow, by window; a window whose calendar is left out has no events.
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
        now = Range.at(at)
        days = {zone: Days(zone, now).all for zone in {hours.zone for hours in self._hours}}
        openings = [hours.openings(days[hours.zone], now) for hours in self._hours]
        return OpenWindows(self._lab, self._pools, openings, now)


class OpenWindows(Mapping[str, Sequence[PlannedWindow]]):
    """The windows that are open at one instant, by pool, without pools that have none.

    The windows of a pool are made when they are asked for: going through all pools needs the memory of one.
    """

    def __init__(
        self,
        lab: Lab,
        pools: "Mapping[str, _Pool]",
        openings: Sequence[Sequence[Opening]],
        now: Range,
    ) -> None:
        self._lab, self._pools, self._openings, self._now = lab, pools, openings, now

    def of(self, name: str) -> Sequence[PlannedWindow]:
        """The open windows of a pool, in the file's order."""
        pool = self._pools.get(name)
        if pool is None:
            return ()
        found: list[PlannedWindow] = []
        for place, hours in enumerate(pool.hours):
            for day, opens, closes, notes, excepted in self._openings[hours]:
                if closes > opens and not excepted:
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
        for order, window, course in pool.following:
            yield from expand_course(self._lab, window, order, course, self._now).windows


@dataclass(frozen=True, slots=True)
class _Pool:
    """The windows of one pool. Their hours, by number, are apart from the rest, which is needed for few windows."""

    hours: list[int] = field(default_factory=list)
    windows: list[tuple[str, int, str, int]] = field(default_factory=list)
    """Name, nodes, owner and order of each of them."""
    following: list[tuple[int, Window, Course]] = field(default_factory=list)
