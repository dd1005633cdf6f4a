"""How long nodes ran, and which lease pays for it: the meter behind every cost.

Computes node time from launches and terminations and splits it into three parts: leased, overrun (past the end of its
lease, or a replaced node that still runs) and unleased. A node of a type that no lease was granted for is unleased.
Each part is kept by type, for terms.py prices each node by its own. The adapters read the records.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from lamplighter.domain.capacity.evidence import Activity, Instance
from lamplighter.domain.money.shares import Claim, is_of, shares
from lamplighter.domain.money.spot import Paid, Rates, SpotType, rate_at

TimeOfTypes = Mapping[Paid, timedelta]
"""Node time by instance type, with its price where that is Spot's; "" where nobody remembers the type."""
# EC2 lists an ended instance for about an hour (Amazon EC2 user guide, "Terminate instances").
EC2_REMEMBERS = timedelta(hours=1)


@dataclass(frozen=True)
class NodeLife:
    """One node's life [started, ended); `ended` is None while it runs."""

    instance: str
    started: datetime
    ended: datetime | None
    member: bool = True
    """Whether its controller started it. An instance that was started otherwise belongs to no lease."""
    type: str = ""
    """Its instance type; "" where nobody remembers it."""
    zone: str = ""
    """Its zone; "" where nobody remembers it."""
    rates: Rates = ()
    """Its Spot prices, where it was bought so and they are known. The ledger keeps none."""

    def paid_at(self, at: datetime) -> Paid:
        """What it is paid by at an instant."""
        rate = rate_at(self.rates, at)
        return self.type if rate is None else SpotType(self.type, rate.per_hour)


@dataclass(frozen=True)
class Grant:
    """The nodes that a lease justified in [opens, closes); `closes` is its real end."""

    lease: str
    nodes: int
    opens: datetime
    closes: datetime
    replaced: frozenset[str] = frozenset()
    """Instances that fresh ones replaced, or that AWS took. While they still run, the lease pays for them as well."""
    before: tuple[tuple[datetime, int], ...] = ()
    """Earlier numbers of nodes, each with the instant up to which it counted, oldest first."""
    types: tuple[str, ...] = ()
    """The instance types that it was granted for; of an older lease without them, any."""

    def nodes_at(self, at: datetime) -> int:
        """The number of nodes at an instant."""
        return next((nodes for until, nodes in self.before if at < until), self.nodes)


@dataclass(frozen=True)
class Metered:
    """Node time by account, and there by type. The three parts add up to all node time."""

    of_leases: Mapping[str, TimeOfTypes] = field(default_factory=dict)
    past_ends: Mapping[str, TimeOfTypes] = field(default_factory=dict)
    of_none: TimeOfTypes = field(default_factory=dict)

    @property
    def leased(self) -> dict[str, timedelta]:
        """By lease, of all types."""
        return {lease: _sum(times) for lease, times in self.of_leases.items()}

    @property
    def overrun(self) -> dict[str, timedelta]:
        """By lease, of all types."""
        return {lease: _sum(times) for lease, times in self.past_ends.items()}

    @property
    def unleased(self) -> timedelta:
        return _sum(self.of_none)

    def of_lease(self, lease: str) -> timedelta:
        """The node time that a lease pays for: its own, and what ran past its end."""
        return self.leased.get(lease, timedelta()) + self.overrun.get(lease, timedelta())

    @property
    def total(self) -> timedelta:
        return _sum(self.leased) + _sum(self.overrun) + self.unleased


def runs(
    activities: Iterable[Activity], instances: Iterable[Instance], now: datetime
) -> tuple[NodeLife, ...]:
    """The life of every node, from its controller's activities and from EC2. Each fills the gaps of the other."""
    started: dict[str, datetime] = {}
    ended: dict[str, datetime] = {}
    types: dict[str, str] = {}
    zones: dict[str, str] = {}
    for activity in activities:
        if not activity.instance or activity.failed:
            continue
        if activity.launches:
            started[activity.instance] = activity.began
            types[activity.instance], zones[activity.instance] = activity.type, activity.zone
        elif activity.ended is not None:
            ended[activity.instance] = activity.ended
    launched = set(started)
    listed = {instance.id: instance for instance in instances}
    for instance in listed.values():
        started[instance.id], types[instance.id] = instance.launched, instance.type
        zones[instance.id] = instance.zone
        if instance.ended is not None:
            ended[instance.id] = instance.ended
        elif instance.exists:
            ended.pop(instance.id, None)
    # Only AWS can set this tag, and it removes the tag from an instance that leaves its controller.
    members = launched | {instance.id for instance in listed.values() if instance.controller is not None}
    return tuple(
        NodeLife(
            name,
            start,
            _end(start, ended.get(name), listed.get(name), now),
            name in members,
            types[name],
            zones[name],
        )
        for name, start in sorted(started.items(), key=lambda item: (item[1], item[0]))
    )


def _end(start: datetime, ended: datetime | None, listed: Instance | None, now: datetime) -> datetime | None:
    if ended is not None:
        return max(start, ended)
    if listed is None:
        # EC2 does not list it and no record has its end: so it ended before the time that EC2 still lists.
        return max(start, now - EC2_REMEMBERS)
    return None if listed.exists else max(start, now)


def meter(running: Sequence[NodeLife], grants: Sequence[Grant], since: datetime, until: datetime) -> Metered:
    """Split the node time of [since, until) among the grants.

    At each instant the grants in force get the running nodes of the controller, the earlier opening first. Of the other
    nodes, replaced nodes that still run count for the grant that replaced them. Then nodes that ran before the end of a
    grant count as its overrun, the grant that ended last and the youngest node first. The rest is unleased.
    """
    edges = {since, until}
    for run in running:
        edges |= {run.started, run.ended or until, *(rate.since for rate in run.rates)}
    for grant in grants:
        edges |= {grant.opens, grant.closes, *(until for until, _ in grant.before)}
    instants = sorted(edge for edge in edges if since <= edge <= until)

    replaced = frozenset[str]().union(*(grant.replaced for grant in grants))
    by_age = sorted(running, key=lambda run: (run.instance in replaced, run.started, run.instance))
    leased, overrun = dict[str, dict[Paid, timedelta]](), dict[str, dict[Paid, timedelta]]()
    unleased = dict[Paid, timedelta]()
    for start, end in pairwise(instants):
        there = [run for run in by_age if run.started <= start and (run.ended is None or start < run.ended)]
        left = {run.instance: run for run in there if run.member}
        claims = [
            Claim(grant.opens, grant.lease, grant.nodes_at(start), grant.types)
            for grant in grants
            if grant.opens <= start < grant.closes
        ]
        for lease, names in shares(claims, {name: run.type for name, run in left.items()}).items():
            _count(leased.setdefault(lease, {}), [left.pop(name) for name in names], start, end)
        for grant in grants:
            names = [name for name in left if name in grant.replaced]
            _count(overrun.setdefault(grant.lease, {}), [left.pop(name) for name in names], start, end)
        for grant in _ended(grants, start):
            own = [name for name, run in left.items() if _ran_before_its_end(run, grant)]
            names = own[::-1][: grant.nodes_at(grant.closes)]
            _count(overrun.setdefault(grant.lease, {}), [left.pop(name) for name in names], start, end)
        _count(unleased, [run for run in there if not run.member or run.instance in left], start, end)
    return Metered(_some(leased), _some(overrun), unleased)


def _ran_before_its_end(run: NodeLife, grant: Grant) -> bool:
    return run.started < grant.closes and is_of(grant.types, run.type)


def _count(account: dict[Paid, timedelta], nodes: Iterable[NodeLife], start: datetime, end: datetime) -> None:
    for node in nodes:
        by = node.paid_at(start)
        account[by] = account.get(by, timedelta()) + (end - start)


def _ended(grants: Sequence[Grant], at: datetime) -> list[Grant]:
    return sorted(
        (grant for grant in grants if grant.opens < grant.closes <= at),
        key=lambda grant: (grant.closes, grant.lease),
        reverse=True,
    )


def _some(accounts: Mapping[str, TimeOfTypes]) -> dict[str, TimeOfTypes]:
    return {lease: times for lease, times in accounts.items() if times}


def _sum(times: Mapping[str, timedelta] | TimeOfTypes) -> timedelta:
    return sum(times.values(), timedelta())
