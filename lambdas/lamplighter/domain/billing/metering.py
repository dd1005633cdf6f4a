"""How long nodes ran, and which lease pays for it: the meter behind every cost.

Computes node time from launches and terminations and splits it into three parts: leased, overrun (past the end of its
lease, or a replaced node that still runs) and unleased. money.py prices it, the adapters read the records.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from lamplighter.domain.capacity.evidence import Activity, Instance
from lamplighter.domain.money.shares import Claim, shares

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


@dataclass(frozen=True)
class Grant:
    """The nodes that a lease justified in [opens, closes); `closes` is its real end."""

    lease: str
    nodes: int
    opens: datetime
    closes: datetime
    replaced: frozenset[str] = frozenset()
    """Instances that fresh ones replaced. While they still run, the lease pays for them as well."""
    before: tuple[tuple[datetime, int], ...] = ()
    """Earlier numbers of nodes, each with the instant up to which it counted, oldest first."""

    def nodes_at(self, at: datetime) -> int:
        """The number of nodes at an instant."""
        return next((nodes for until, nodes in self.before if at < until), self.nodes)


@dataclass(frozen=True)
class Metered:
    """Node time by account. The three parts add up to all node time."""

    leased: Mapping[str, timedelta] = field(default_factory=dict)
    overrun: Mapping[str, timedelta] = field(default_factory=dict)
    unleased: timedelta = timedelta()

    def of_lease(self, lease: str) -> timedelta:
        """The node time that a lease pays for: its own, and what ran past its end."""
        return self.leased.get(lease, timedelta()) + self.overrun.get(lease, timedelta())

    @property
    def total(self) -> timedelta:
        return (
            sum(self.leased.values(), timedelta()) + sum(self.overrun.values(), timedelta()) + self.unleased
        )


def runs(
    activities: Iterable[Activity], instances: Iterable[Instance], now: datetime
) -> tuple[NodeLife, ...]:
    """The life of every node, from its controller's activities and from EC2. Each fills the gaps of the other."""
    started: dict[str, datetime] = {}
    ended: dict[str, datetime] = {}
    for activity in activities:
        if not activity.instance or activity.failed:
            continue
        if activity.launches:
            started[activity.instance] = activity.began
        elif activity.ended is not None:
            ended[activity.instance] = activity.ended
    launched = set(started)
    listed = {instance.id: instance for instance in instances}
    for instance in listed.values():
        started[instance.id] = instance.launched
        if instance.ended is not None:
            ended[instance.id] = instance.ended
        elif instance.exists:
            ended.pop(instance.id, None)
    # Only AWS can set this tag, and it removes the tag from an instance that leaves its controller.
    members = launched | {instance.id for instance in listed.values() if instance.controller is not None}
    return tuple(
        NodeLife(name, start, _end(start, ended.get(name), listed.get(name), now), name in members)
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
    grant count as its overrun, the grant that ended last first. The rest is unleased.
    """
    edges = {since, until}
    for run in running:
        edges |= {run.started, run.ended or until}
    for grant in grants:
        edges |= {grant.opens, grant.closes, *(until for until, _ in grant.before)}
    instants = sorted(edge for edge in edges if since <= edge <= until)

    leased: dict[str, timedelta] = {}
    overrun: dict[str, timedelta] = {}
    unleased = timedelta()
    for start, end in pairwise(instants):
        length = end - start
        there = [run for run in running if run.started <= start and (run.ended is None or start < run.ended)]
        present = [run for run in there if run.member]
        left = len(present)
        claims = [
            Claim(grant.opens, grant.lease, grant.nodes_at(start))
            for grant in grants
            if grant.opens <= start < grant.closes
        ]
        for lease, taken in shares(claims, left).items():
            left -= taken
            leased[lease] = leased.get(lease, timedelta()) + taken * length
        for grant in grants:
            taken = min(left, sum(1 for run in present if run.instance in grant.replaced))
            left -= taken
            overrun[grant.lease] = overrun.get(grant.lease, timedelta()) + taken * length
        older = sorted(present, key=lambda run: run.started)
        for grant in _ended(grants, start):
            older = [run for run in older if run.started < grant.closes]
            taken = min(left, grant.nodes_at(grant.closes), len(older))
            left -= taken
            # The youngest nodes are counted first, so that no node counts for two grants.
            older = older[: len(older) - taken]
            overrun[grant.lease] = overrun.get(grant.lease, timedelta()) + taken * length
        unleased += (left + len(there) - len(present)) * length
    return Metered(_positive(leased), _positive(overrun), unleased)


def _ended(grants: Sequence[Grant], at: datetime) -> list[Grant]:
    return sorted(
        (grant for grant in grants if grant.opens < grant.closes <= at),
        key=lambda grant: (grant.closes, grant.lease),
        reverse=True,
    )


def _positive(times: Mapping[str, timedelta]) -> dict[str, timedelta]:
    return {lease: time for lease, time in times.items() if time}
