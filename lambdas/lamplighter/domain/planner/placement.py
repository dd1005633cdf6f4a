"""Which of the planned windows get their nodes and their money in a simulation, in one pass over all pools.

Earlier opening first, then the order in the file. Owns what is taken and held as the pass goes on; whether a window
gets its nodes and its money is the rule of granting/admission.py. A refused window holds neither.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from fractions import Fraction
from functools import cache
from heapq import heappop, heappush
from math import lcm
from operator import attrgetter
from typing import NamedTuple

from lamplighter.domain.calendar.early_opening import NodeInterval, fitted
from lamplighter.domain.calendar.occurrences import Code, SkippedWindow
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.granting import spending
from lamplighter.domain.granting.admission import Lack, missing, over_budget, pool_full, with_nodes
from lamplighter.domain.leases import warm_up
from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import who
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values import zones

SECONDS_AN_HOUR = 3600


class Placement(NamedTuple):
    """The windows that get nodes and money, in the order of opening, and those that do not, with the reason."""

    admitted: list[PlannedWindow]
    refused: list[SkippedWindow]


def place(lab: Lab, windows: Iterable[PlannedWindow]) -> Placement:
    """Give windows nodes and money as if nothing else had been spent and no lease were running."""
    early = any(window.ready == "by" for window in lab.windows)
    # A window that opens early is ordered by its start: it takes nodes from nobody who opens before that.
    windows = sorted(windows, key=attrgetter("begins" if early else "opening", "order"))
    tariff = _Tariff(lab, {window.pool for window in windows})
    rooms = {name: _Room(pool.max_nodes) for name, pool in lab.pools.items()}
    held: defaultdict[str, int] = defaultdict(int)
    owned: defaultdict[tuple[str, str], int] = defaultdict(int)
    placement = Placement([], [])
    for window in windows:
        room = rooms[window.pool]
        begins = window.opening if window.ready_by is None else window.ready_by
        taken = room.taken(begins)
        if early:
            window = fitted(window, lab, room.most, room.stays(begins))  # noqa: PLW2901
        period = tariff.period(window.opening)
        hold = tariff.hold(window)
        person = who(window.owner)
        limit = tariff.owners.get(person)
        left = [tariff.budget - held[period]]
        if limit is not None:
            left.append(limit - owned[person, period])
        lacking = missing(window.nodes, room.most - taken, hold, left)
        if lacking is None:
            held[period] += hold
            if limit is not None:
                owned[person, period] += hold
            room.take(window)
            if early:
                room.remember(window)
            placement.admitted.append(window)
        else:
            if lacking.lack is Lack.NODES:
                why = room.full(window, begins)
            else:
                owner = window.owner if lacking.budget else None
                why = tariff.too_dear(hold, left[lacking.budget], period, owner)
            code = Code(lacking.lack.value)
            placement.refused.append(
                SkippedWindow(window.window, window.pool, window.date, code, why, window.order)
            )
    return placement


class _Room:
    """The nodes of a pool; openings ask for them in the order of time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken = 0
        self._running: list[tuple[int, int, str]] = []  # closing, nodes, window; the next to close first
        self._lately: list[NodeInterval] = []

    def taken(self, at: int) -> int:
        # Openings come in the order of time, so only what has closed by now is given back.
        while self._running and self._running[0][0] <= at:
            self._taken -= heappop(self._running)[1]
        return self._taken

    def take(self, window: PlannedWindow) -> None:
        heappush(self._running, (window.closing, window.nodes, window.window))
        self._taken += window.nodes

    def full(self, window: PlannedWindow, at: int) -> Reason:
        """Why there is no room for a window, with the windows that have the nodes."""
        leases = tuple(
            with_nodes(reason("lease.of-window", window=name), nodes)
            for _, nodes, name in sorted(self._running)
        )
        return pool_full(window.pool, zones.instant(at), leases, window.nodes, self._taken, self.most)

    def remember(self, window: PlannedWindow) -> None:
        self._lately.append(NodeInterval(window.opening, window.closing, window.nodes, window.window))

    def stays(self, before: int) -> list[NodeInterval]:
        """The nodes that others have or had lately, for a window that would open early before this instant."""
        longest = int(warm_up.LONGEST.total_seconds())
        self._lately = [stay for stay in self._lately if stay.closing > before - longest]
        return self._lately


class _Tariff:
    """Money in whole numbers of a unit so small that every price and the budget are whole numbers of it."""

    def __init__(self, lab: Lab, pools: Iterable[str]) -> None:
        prices = {name: Fraction(lab.price(name)) for name in pools}
        budget = Fraction(lab.guard.budget.amount)
        owners = {name: Fraction(amount) for name, amount in lab.guard.budget.owners.items()}
        parts = (budget, *owners.values(), *prices.values())
        self._unit = lcm(*(part.denominator for part in parts))
        self._prices = {name: int(price * self._unit) for name, price in prices.items()}
        self._currency = lab.guard.budget.currency
        self._per = lab.guard.budget.period
        self._steady = zones.steady_days(lab.time_zone)
        self._name = cache(_PERIODS[self._per])
        self.budget = int(budget * self._unit) * SECONDS_AN_HOUR
        self.owners = spending.parts(
            {name: int(amount * self._unit) * SECONDS_AN_HOUR for name, amount in owners.items()}
        )

    def hold(self, window: PlannedWindow) -> int:
        return window.nodes * (window.closing - window.opening) * self._prices[window.pool]

    def period(self, opening: int) -> str:
        return self._name(self._steady.local_day(opening))

    def too_dear(self, hold: int, left: int, period: str, owner: str | None) -> Reason:
        limit = self.budget if owner is None else self.owners[who(owner)]
        budget = spending.named(self._money(limit), self._per, owner)
        short = over_budget(self._money(hold), budget, period)
        return reason("money.over-budget.left", refusal=short, left=self._money(left))

    def _money(self, units: int) -> str:
        money = Money(Fraction(units, self._unit * SECONDS_AN_HOUR), self._currency)
        return f"{money.rounded():f} {self._currency}"


def _day(ordinal: int) -> str:
    return date.fromordinal(ordinal).isoformat()


def _week(ordinal: int) -> str:
    year, week, _ = date.fromordinal(ordinal).isocalendar()
    return f"{year}-W{week:02}"


def _month(ordinal: int) -> str:
    day = date.fromordinal(ordinal)
    return f"{day.year:04}-{day.month:02}"


_PERIODS: dict[str, Callable[[int], str]] = {"day": _day, "week": _week, "month": _month}
