"""Which other leases are on a pool in an interval, and whether more nodes fit beside them.

It counts granted leases and, for later requests, planned windows.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from lamplighter.domain.leases.lease import Lease, LeaseState


def others(leases: Iterable[Lease], asking: Lease) -> list[Lease]:
    """The leases that come before `asking`: all granted ones, and planned windows.

    A window gives way to the planned ones that open earlier, or stand earlier in the lab file; a
    person's lease, and one that comes from another pool, gives way to every planned window, so that
    nobody loses a lesson to a walk-in.
    """
    return [
        lease
        for lease in leases
        if lease.id != asking.id
        and (lease.granted or (lease.state is LeaseState.PLANNED and _goes_first(lease, asking)))
    ]


def _goes_first(planned: Lease, asking: Lease) -> bool:
    if asking.window is None or asking.moved_from is not None:
        return True
    return (planned.begins, planned.order) < (asking.begins, asking.order)


def crowded_at(
    leases: Sequence[Lease], nodes: int, opens: datetime, closes: datetime, max_nodes: int
) -> datetime | None:
    """The first instant of [opens, closes) at which `nodes` more do not fit; None if they always fit."""
    near = [lease for lease in leases if lease.opens < lease.closes and lease.overlaps(opens, closes)]
    # In the order of time; at one instant, the nodes that become free come first.
    changes = [(lease.closes, -lease.nodes) for lease in near]
    changes += [(max(lease.opens, opens), lease.nodes) for lease in near]
    taken = nodes
    for at, change in sorted([*changes, (opens, 0)]):
        taken += change
        if taken > max_nodes and at < closes:
            return at
    return None


def taken_at(leases: Iterable[Lease], at: datetime) -> int:
    """The sum of the nodes of these leases at an instant."""
    return sum(lease.nodes for lease in leases if lease.opens <= at < lease.closes)
