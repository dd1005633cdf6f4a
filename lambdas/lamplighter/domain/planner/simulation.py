"""What the planner and the guard would do with a lab in [from, to), with nothing spent and no lease before.

Expands the windows, places them, and adds up the capacity and the cost of the range.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter
from typing import NamedTuple

from pydantic import JsonValue

from lamplighter.domain.calendar.course import Course
from lamplighter.domain.calendar.occurrences import SkippedWindow, expand
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.money.money import Money, cost_of
from lamplighter.domain.planner.placement import place
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, in_english
from lamplighter.values import zones

MICROSECOND = timedelta(microseconds=1)
MICROSECONDS = 1_000_000


class Stretch(NamedTuple):
    """A stretch of time in which a pool has the same number of nodes."""

    pool: str
    nodes: int
    beginning: int
    """Microseconds since 1970: a range may begin at any of them."""
    ending: int

    @property
    def begins(self) -> datetime:
        """When the pool comes to so many nodes, in UTC."""
        return zones.EPOCH + self.beginning * MICROSECOND

    @property
    def ends(self) -> datetime:
        """When the number changes, in UTC; the stretch is [begins, ends)."""
        return zones.EPOCH + self.ending * MICROSECOND


class PoolCost(NamedTuple):
    """How long a pool's nodes run in the range, and what they cost."""

    pool: str
    node_seconds: Fraction
    cost: Money


class Simulation(NamedTuple):
    """The answer of `simulate`, in the order in which the contract lists it."""

    begins: datetime
    ends: datetime
    windows: list[PlannedWindow]
    skipped: list[SkippedWindow]
    capacity: list[Stretch]
    costs: list[PoolCost]

    def to_json(
        self, drawn: Callable[[Said], str] = in_english, capacity: Sequence[JsonValue] = ()
    ) -> dict[str, JsonValue]:
        """The document of the contract; `drawn` writes its reasons and notes.

        `capacity` says of each window whether AWS will probably have its nodes.
        """
        at = _Instants()
        return {
            "from": rfc3339(self.begins),
            "to": rfc3339(self.ends),
            "windows": [
                {
                    "window": one.window,
                    "pool": one.pool,
                    "nodes": one.nodes,
                    "date": one.date.isoformat(),
                    "opens": at[one.opening * MICROSECONDS],
                    "closes": at[one.closing * MICROSECONDS],
                    "notes": [drawn(note) for note in one.notes],
                    **({"capacity": capacity[place]} if capacity else {}),
                }
                for place, one in enumerate(self.windows)
            ],
            "skipped": [
                {
                    "window": one.window,
                    "pool": one.pool,
                    "date": one.date.isoformat(),
                    "code": one.code.value,
                    "reason": drawn(one.reason),
                }
                for one in self.skipped
            ],
            "capacity": [
                {"pool": one.pool, "nodes": one.nodes, "from": at[one.beginning], "to": at[one.ending]}
                for one in self.capacity
            ],
            "cost": [
                {
                    "pool": one.pool,
                    "node_seconds": _number(one.node_seconds),
                    "amount": format(one.cost.rounded(), "f"),
                    "currency": one.cost.currency,
                }
                for one in self.costs
            ],
        }


def simulate(
    lab: Lab, begins: datetime, ends: datetime, courses: Mapping[str, Course] | None = None
) -> Simulation:
    """Simulate a lab's windows over [begins, ends); `courses` are the calendars that they follow, by window."""
    begins, ends = begins.astimezone(UTC), ends.astimezone(UTC)
    expansion = expand(lab, begins, ends, courses)
    placement = place(lab, expansion.windows)
    # A window that opens later than it asked for may open after the end of the range.
    admitted = [one for one in placement.admitted if one.ready_by is None or one.opens < ends]
    windows = sorted(admitted, key=attrgetter("opening", "window"))
    skipped = sorted(expansion.skipped + placement.refused, key=attrgetter("date", "order"))
    return reckoned(lab, begins, ends, windows, skipped)


def reckoned(  # noqa: PLR0917 -- the parts of the document, in its order
    lab: Lab,
    begins: datetime,
    ends: datetime,
    windows: list[PlannedWindow],
    skipped: list[SkippedWindow],
    prices: Mapping[str, Decimal] | None = None,
) -> Simulation:
    """The simulation of admitted windows, with the capacity and the cost that follow from them."""
    of_pool: defaultdict[str, list[PlannedWindow]] = defaultdict(list)
    for window in windows:
        of_pool[window.pool].append(window)
    capacity: list[Stretch] = []
    costs: list[PoolCost] = []
    for pool in lab.pools:
        stretches = _stretches(pool, of_pool[pool], _microseconds(begins), _microseconds(ends))
        capacity += stretches
        node_time = sum(stretch.nodes * (stretch.ending - stretch.beginning) for stretch in stretches)
        # An adopted pool without a window needs no price.
        price = Decimal(0)
        if node_time:
            price = lab.price(pool) if prices is None else prices.get(pool, price)
        cost = cost_of(node_time * MICROSECOND, price, lab.guard.budget.currency)
        costs.append(PoolCost(pool, Fraction(node_time, MICROSECONDS), cost))
    return Simulation(begins, ends, windows, skipped, capacity, costs)


def _stretches(pool: str, windows: Iterable[PlannedWindow], begins: int, ends: int) -> list[Stretch]:
    """The stretches of a pool, clipped to the range; neighbours with equal nodes are one stretch."""
    changes: defaultdict[int, int] = defaultdict(int)
    for window in windows:
        changes[max(window.opening * MICROSECONDS, begins)] += window.nodes
        changes[min(window.closing * MICROSECONDS, ends)] -= window.nodes
    stretches: list[Stretch] = []
    nodes, since = 0, begins
    for at in sorted(changes):
        if changes[at] == 0:
            continue
        if nodes:
            stretches.append(Stretch(pool, nodes, since, at))
        nodes, since = nodes + changes[at], at
    return stretches


class _Instants(dict[int, str]):
    """Writes microseconds since 1970 as instants, once each: windows share most of their instants."""

    def __missing__(self, at: int) -> str:
        text = self[at] = rfc3339(zones.EPOCH + at * MICROSECOND)
        return text


def _microseconds(at: datetime) -> int:
    return (at - zones.EPOCH) // MICROSECOND


def rfc3339(at: datetime) -> str:
    """An instant in UTC, with a fraction only where there is one."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
