"""What a pool should have at an instant: the sum of its leases in force, bounded by its maximum.

Everything that writes a size writes this whole number, never a difference; who writes it, and how,
is decided elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain import instant
from lamplighter.domain.lease import Lease, LeaseState


@dataclass(frozen=True, slots=True)
class Target:
    """How many nodes are justified, by which leases, and why in words."""

    nodes: int
    leases: tuple[str, ...]
    reason: str


def target_at(leases: Iterable[Lease], at: datetime, max_nodes: int) -> Target:
    """The nodes that the leases of one pool justify at `at`."""
    in_force = sorted((lease for lease in leases if lease.in_force(at)), key=lambda lease: lease.closes)
    if not in_force:
        return Target(0, (), "no lease is in force, so no node is justified")
    asked = sum(lease.nodes for lease in in_force)
    nodes = min(asked, max_nodes)
    parts = [
        f"{lease.called()} justifies {lease.nodes} until {instant.clock_time(lease.closes)}"
        for lease in in_force
    ]
    reason = " and ".join(parts)
    if nodes < asked:
        reason += f"; the pool has at most {max_nodes}"
    return Target(nodes, tuple(lease.id for lease in in_force), reason)


def due(leases: Iterable[Lease], at: datetime) -> list[Lease]:
    """Planned leases whose time has come that nobody decided on yet, in order of admission."""
    waiting = [
        lease for lease in leases if lease.state is LeaseState.PLANNED and lease.opens <= at < lease.closes
    ]
    return sorted(waiting, key=lambda lease: (lease.opens, lease.order))
