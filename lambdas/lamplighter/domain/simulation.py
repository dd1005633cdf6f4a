"""What the planner and the guard would do with a lab in [from, to), with nothing spent and no lease before.

Puts together calendar and admission, and reckons capacity and cost of what lies in the range.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

from pydantic import JsonValue

from lamplighter.domain.admission import admit
from lamplighter.domain.calendar import PlannedWindow, SkippedWindow, expand
from lamplighter.domain.money import Money, cost_of
from lamplighter.lab import Lab

SECOND = timedelta(seconds=1)


class Stretch(NamedTuple):
    """A time in which a pool has so many nodes."""

    pool: str
    nodes: int
    begins: datetime
    ends: datetime

    @property
    def node_time(self) -> timedelta:
        """Nodes times time."""
        return self.nodes * (self.ends - self.begins)


class PoolCost(NamedTuple):
    """What a pool's nodes run for in the range, and cost."""

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

    def to_json(self) -> dict[str, JsonValue]:
        """The document of the contract."""
        return {
            "from": rfc3339(self.begins),
            "to": rfc3339(self.ends),
            "windows": [
                {
                    "window": one.window,
                    "pool": one.pool,
                    "nodes": one.nodes,
                    "date": one.date.isoformat(),
                    "opens": rfc3339(one.opens),
                    "closes": rfc3339(one.closes),
                    "notes": list(one.notes),
                }
                for one in self.windows
            ],
            "skipped": [
                {
                    "window": one.window,
                    "pool": one.pool,
                    "date": one.date.isoformat(),
                    "code": one.code.value,
                    "reason": one.reason,
                }
                for one in self.skipped
            ],
            "capacity": [
                {"pool": one.pool, "nodes": one.nodes, "from": rfc3339(one.begins), "to": rfc3339(one.ends)}
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


def simulate(lab: Lab, begins: datetime, ends: datetime) -> Simulation:
    """Plays a lab's windows over [begins, ends)."""
    begins, ends = begins.astimezone(UTC), ends.astimezone(UTC)
    expansion = expand(lab, begins, ends)
    admission = admit(lab, expansion.windows)
    windows = sorted(admission.admitted, key=lambda one: (one.opening, one.window))
    skipped = sorted(expansion.skipped + admission.refused, key=lambda one: (one.date, one.order))
    of_pool: defaultdict[str, list[PlannedWindow]] = defaultdict(list)
    for window in windows:
        of_pool[window.pool].append(window)
    capacity: list[Stretch] = []
    costs: list[PoolCost] = []
    for pool in lab.pools:
        stretches = _stretches(pool, of_pool[pool], begins, ends)
        capacity += stretches
        node_time = sum((stretch.node_time for stretch in stretches), timedelta(0))
        cost = cost_of(node_time, lab.price(pool), lab.guard.budget.currency)
        costs.append(PoolCost(pool, Fraction(node_time // timedelta(microseconds=1), 1_000_000), cost))
    return Simulation(begins, ends, windows, skipped, capacity, costs)


def _stretches(
    pool: str, windows: Iterable[PlannedWindow], begins: datetime, ends: datetime
) -> list[Stretch]:
    """When the pool has how many nodes, clipped to the range; neighbours with equal nodes are one."""
    changes: defaultdict[datetime, int] = defaultdict(int)
    for window in windows:
        changes[max(window.opens, begins)] += window.nodes
        changes[min(window.closes, ends)] -= window.nodes
    stretches: list[Stretch] = []
    nodes, since = 0, begins
    for at in sorted(changes):
        if changes[at] == 0:
            continue
        if nodes:
            stretches.append(Stretch(pool, nodes, since, at))
        nodes, since = nodes + changes[at], at
    return stretches


def rfc3339(at: datetime) -> str:
    """An instant in UTC, with a fraction only where there is one."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
