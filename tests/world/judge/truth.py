"""What really ran and what was granted, recorded as it happens. The laws are judged by this record only.

It reads raw items of the table and the world's own machines, and uses none of our code.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.world.aws.machines import Machine
from tests.world.world import World

GRANTED = frozenset({"admitted", "opening", "open"})


@dataclass(frozen=True)
class Version:
    """A lease as the table had it from an instant on."""

    at: datetime
    by: str
    state: str
    nodes: int
    """The nodes that it orders now. A node that a shortage keeps away is not ordered until the lab asks again."""
    opens: datetime
    closes: datetime
    window: str | None
    hold: Fraction
    owner: str
    asked_by: str
    price: Fraction | None
    """The price of a node and an hour, as it was granted."""
    replaced: bool
    """Whether some of its nodes were replaced."""
    moved_from: tuple[str, str] | None = None
    """The pool and the lease whose place it takes."""

    @property
    def granted(self) -> bool:
        return self.state in GRANTED

    @property
    def holds(self) -> bool:
        """Whether money is held for it: until its spent money is known."""
        return self.granted or self.state == "closing"

    def justifies(self, at: datetime) -> bool:
        return self.granted and self.opens <= at < self.closes


@dataclass(frozen=True)
class Life:
    id: str
    launched: datetime
    stopped: datetime | None
    """When it stopped costing money."""
    ended: datetime | None
    stray: bool = False
    dear: bool = False
    """Whether no lease was granted for its type, so that it belongs to none."""


@dataclass(frozen=True)
class Order:
    """A size that somebody ordered for a pool."""

    at: datetime
    pool: str
    by: str
    before: int
    after: int
    anew: bool = False
    """Whether it takes no machine, and only has the controller try again for the rest."""
    dear: bool = False
    """Whether machines of a type that no lease was granted for stood in the pool."""


@dataclass
class Truth:
    """`leases` and `machines` are all that the world has seen so far, by pool."""

    world: World
    leases: dict[str, dict[str, list[Version]]] = field(default_factory=dict)
    machines: dict[str, dict[str, Life]] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=list)
    budgets: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world.dynamodb.listeners.append(self._written)
        self.world.machines.changed.append(self._machine)
        self.world.supply.heard.ordered = self._ordered

    def pools(self) -> Iterator[str]:
        return iter(self.world.lab.pools)

    def known(self, pool: str) -> dict[str, Version]:
        return {name: versions[-1] for name, versions in self.leases.get(pool, {}).items()}

    def receipts(self, pool: str) -> list[dict[str, Any]]:
        """The costs on receipts: of leases, and of machines without a lease."""
        return [json.loads(item["document"]["S"]) for item in self._items(pool, "RECEIPT#")]

    def unbilled(self, pool: str) -> Fraction:
        """The money that is counted as spent and not on a receipt yet."""
        [state] = [*self._items(pool, "STATE"), {}][:1]
        waiting = json.loads(state["unbilled"]["S"]) if "unbilled" in state else None
        return Fraction(waiting["amount"]) if waiting else Fraction(0)

    def touched(self, pool: str) -> list[tuple[str, str]]:
        """Who ended or extended which lease, by the audit trail."""
        return [
            (item["who"]["S"], item["lease"]["S"])
            for item in self._items(pool, "AUDIT#")
            if item["kind"]["S"] in {"closing", "extended", "kept"} and "lease" in item
        ]

    def past_end(self, pool: str, name: str) -> Fraction:
        """The node-seconds without justification for which a lease may answer, until every machine was gone.

        They ran after its end; or since its grant, if nodes of it were replaced.
        """
        now = self.world.now
        own = list(self._stretches(pool, name, now))
        if not own:
            return Fraction(0)
        since = own[0][1] if any(version.replaced for version, _, _ in own) else own[-1][2]
        lives = [(begin, end, 1) for begin, end in self._members(pool, existing=True)]
        justified = [(begin, end, -nodes) for begin, end, nodes in self._justified(pool, now)]
        return sum(
            (
                surplus * _seconds(max(until, since) - max(begin, since))
                for begin, until, surplus in _levels([*lives, *justified])
                if surplus > 0
            ),
            start=Fraction(0),
        )

    def _members(self, pool: str, *, existing: bool) -> Iterator[tuple[datetime, datetime]]:
        """The lives of the machines of the pool's group, until EC2 stops billing them, or until they are gone."""
        for life in self.machines.get(pool, {}).values():
            if not life.stray and not life.dear:
                yield life.launched, (life.ended if existing else life.stopped) or self.world.now

    def _items(self, pool: str, begins: str) -> list[Any]:
        return [
            item
            for (key, sort), item in self.world.dynamodb.items.items()
            if key == f"POOL#{pool}" and sort.startswith(begins)
        ]

    def owner(self, pool: str, lease: str) -> str:
        return self.leases[pool][lease][-1].owner

    def justified(self, pool: str, at: datetime, seen: datetime | None = None) -> int:
        """How many nodes the leases justify at an instant, as they were known at `seen`."""
        seen = seen or at
        total = 0
        for versions in self.leases.get(pool, {}).values():
            known = [version for version in versions if version.at <= seen]
            if known and known[-1].justifies(at):
                total += known[-1].nodes
        return total

    def exposed(self, pool: str, until: datetime) -> list[tuple[datetime, datetime]]:
        """The periods in which more machines existed than leases justified. They justify none of another type."""
        usual = [(life.launched, life.ended or until, 1) for life in self.lives(pool)]
        dear = [(life.launched, life.ended or until, 1) for life in self.lives(pool, dear=True)]
        surplus = _positive([*usual, *((a, b, -n) for a, b, n in self._justified(pool, until))])
        return [*surplus, *_positive(dear)]

    def lacking(self, pool: str, until: datetime) -> list[tuple[datetime, datetime]]:
        """The periods in which leases justified more machines than existed."""
        lives = [(life.launched, life.stopped or until, -1) for life in self.lives(pool)]
        return _positive([*lives, *self._justified(pool, until)])

    def _justified(self, pool: str, until: datetime) -> Iterator[tuple[datetime, datetime, int]]:
        """The periods and the justified nodes of each, by each version of a lease."""
        for name in self.leases.get(pool, {}):
            for version, begins, ends in self._stretches(pool, name, until):
                yield begins, ends, version.nodes

    def lives(self, pool: str, *, dear: bool = False) -> list[Life]:
        """The lives of the pool's machines, of the usual type or of the dear one."""
        return [life for life in self.machines.get(pool, {}).values() if life.dear is dear]

    def node_seconds(self, pool: str, *, dear: bool) -> tuple[Fraction, Fraction]:
        """What ran, in node-seconds: as EC2 bills it, and until every machine was really gone."""
        billed = existed = timedelta()
        for life in self.lives(pool, dear=dear):
            billed += (life.stopped or self.world.now) - life.launched
            existed += (life.ended or self.world.now) - life.launched
        return _seconds(billed), _seconds(existed)

    def stray_seconds(self, pool: str) -> Fraction:
        """What machines outside any group ran."""
        strays = [life for life in self.machines.get(pool, {}).values() if life.stray]
        return sum((_seconds((life.ended or self.world.now) - life.launched) for life in strays), Fraction(0))

    def leased(self, pool: str, *, existing: bool) -> dict[str, Fraction]:
        """The node-seconds of each lease. At every instant, running machines belong to the leases in order of opening.

        They run until EC2 stops billing them, or until they are gone. A machine outside the group belongs to no lease.
        """
        now = self.world.now
        lives = list(self._members(pool, existing=existing))
        wanted = [
            (version.opens, name, begin, end, version.nodes)
            for name in self.leases.get(pool, {})
            for version, begin, end in self._stretches(pool, name, now)
        ]
        edges = sorted({at for life in lives for at in life} | {at for each in wanted for at in each[2:4]})
        found: dict[str, Fraction] = {}
        for since, until in pairwise(edges):
            left = sum(1 for begin, end in lives if begin <= since < end)
            for _opens, name, begin, end, nodes in sorted(wanted):
                if left and begin <= since < end:
                    has = min(left, nodes)
                    left -= has
                    found[name] = found.get(name, Fraction()) + has * _seconds(until - since)
        return found

    def _stretches(
        self, pool: str, name: str, until: datetime
    ) -> Iterator[tuple[Version, datetime, datetime]]:
        """The periods in which a lease was granted, by each of its versions."""
        versions = self.leases[pool][name]
        for version, following in zip(versions, [*versions[1:], None], strict=True):
            begins = max(version.at, version.opens)
            ends = min(version.closes, following.at if following else until)
            if version.granted and begins < ends:
                yield version, begins, ends

    def _written(self, before: Any, item: Any) -> None:
        said = item or before
        key, sort = said["pk"]["S"], said["sk"]["S"]
        if sort.startswith("LEASE#"):
            pool, name = key.removeprefix("POOL#"), sort.removeprefix("LEASE#")
            versions = self.leases.setdefault(pool, {}).setdefault(name, [])
            versions.append(self._version(said, gone=item is None))
        if sort.startswith("BUDGET#") and item is not None:
            self.budgets[sort] = item

    def _version(self, item: Any, *, gone: bool) -> Version:
        return Version(
            at=self.world.now,
            by=self.world.actor(),
            state="gone" if gone else item["state"]["S"],
            nodes=int(item["nodes"]["N"]) - int(item["missing"]["N"]),
            opens=datetime.fromisoformat(item["opens"]["S"]),
            closes=datetime.fromisoformat(item["closes"]["S"]),
            window=item["window"]["S"] if "window" in item else None,
            hold=amount(item["hold"]),
            owner=item["owner"]["S"],
            asked_by=item["by"]["S"] if "by" in item else "",
            price=Fraction(item["price_per_hour"]["S"]) if "price_per_hour" in item else None,
            replaced="replaced" in item,
            moved_from=(moved["M"]["pool"]["S"], moved["M"]["lease"]["S"])
            if (moved := item.get("moved_from"))
            else None,
        )

    def _machine(self, machine: Machine) -> None:
        life = Life(
            machine.id, machine.launched, machine.shutting_down, machine.ended, machine.stray, machine.dear
        )
        self.machines.setdefault(machine.pool, {})[machine.id] = life

    def _ordered(self, pool: str, before: int, after: int) -> None:
        supply = self.world.supply
        anew = after < before and supply.anew(pool) and after >= len(supply.staying(pool))
        dear = any(machine.dear for machine in self.world.machines.of_pool(pool))
        self.orders.append(Order(self.world.now, pool, self.world.actor(), before, after, anew, dear))


def amount(money: Any) -> Fraction:
    """An amount of money in the form of the table."""
    return Fraction(money["M"]["amount"]["S"])


def _seconds(length: timedelta) -> Fraction:
    return Fraction(length // timedelta(microseconds=1), 10**6)


def _levels(
    stretches: Iterable[tuple[datetime, datetime, int]],
) -> Iterator[tuple[datetime, datetime, int]]:
    """The sum of the periods between each two of their ends."""
    changes: dict[datetime, int] = {}
    for begin, end, number in stretches:
        changes[begin] = changes.get(begin, 0) + number
        changes[end] = changes.get(end, 0) - number
    total = 0
    for at, until in pairwise(sorted(changes)):
        total += changes[at]
        yield at, until, total


def _positive(stretches: Iterable[tuple[datetime, datetime, int]]) -> list[tuple[datetime, datetime]]:
    """When the sum of the periods is more than zero."""
    found: list[tuple[datetime, datetime]] = []
    for since, until, number in _levels(stretches):
        if number <= 0:
            continue
        if found and found[-1][1] == since:
            found[-1] = (found[-1][0], until)
        else:
            found.append((since, until))
    return found
