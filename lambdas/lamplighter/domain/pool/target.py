"""How many nodes a pool should have at an instant: the sum of its leases in force, at most its maximum.

Every writer of a size writes this whole number, never a difference.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.leases.lease import GRANTED, Lease, LeaseState
from lamplighter.reasons.reason import Reason, draw, reason

_BY_END = attrgetter("closes")


class Target(NamedTuple):
    """How many nodes are justified, and by which leases."""

    nodes: int
    in_force: tuple[Lease, ...]
    """The leases that justify them; the lease that ends first comes first."""

    @property
    def leases(self) -> tuple[str, ...]:
        """The ids of the leases in force."""
        return tuple(lease.id for lease in self.in_force)

    @property
    def reason(self) -> Reason:
        """Why the target has this number."""
        if not self.in_force:
            return reason("pool.no-lease")
        leases = tuple(
            reason("lease.justifies", lease=lease.called(), nodes=lease.wanted, until=lease.closes)
            for lease in self.in_force
        )
        if self.nodes < sum(lease.wanted for lease in self.in_force):
            return reason("pool.justified.most", leases=leases, most=self.nodes)
        return reason("pool.justified", leases=leases)

    def reason_by(self, clock: Callable[[datetime], str]) -> str:
        """Why the target has this number, in English, with instants as this clock writes them."""
        return draw(self.reason, ENGLISH, clock)


NOTHING = Target(0, ())


def target_at(leases: Iterable[Lease], at: datetime, max_nodes: int) -> Target:
    """The nodes that the leases of one pool justify at an instant."""
    # Lease.in_force, inlined: this runs for every pool of a lab at once. The state is compared first, since most leases
    # are planned or over, and comparing instants costs more.
    in_force = [lease for lease in leases if lease.state in GRANTED and lease.opens <= at < lease.closes]
    if not in_force:
        return NOTHING
    if len(in_force) == 1:
        return Target(min(in_force[0].wanted, max_nodes), (in_force[0],))
    in_force.sort(key=_BY_END)
    return Target(min(sum(lease.wanted for lease in in_force), max_nodes), tuple(in_force))


def first_opened(running: Iterable[Lease]) -> Lease | None:
    """The lease whose settings a pool has: the first that opened of those that run."""
    return min(running, key=lambda lease: (lease.opens, lease.order, lease.id), default=None)


def begun(leases: Iterable[Lease], own: str | None) -> list[Lease]:
    """Leave out admitted leases whose nodes are not ordered yet, except `own`: their own run orders their nodes."""
    return [
        lease
        for lease in leases
        if lease.id == own or lease.ordered is not None or lease.state is not LeaseState.ADMITTED
    ]


def due(leases: Iterable[Lease], at: datetime) -> list[Lease]:
    """Planned leases that should open now and are not decided yet, in order of admission."""
    undecided = [
        lease for lease in leases if lease.state is LeaseState.PLANNED and lease.opens <= at < lease.closes
    ]
    return sorted(undecided, key=lambda lease: (lease.opens, lease.order))
