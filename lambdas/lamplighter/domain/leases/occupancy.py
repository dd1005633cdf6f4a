"""Who else is on a pool over a stretch of time, and whether more nodes fit beside them.

Counts granted leases and, for those who come later, what windows have planned.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.reasons.reason import Reason, reason


def others(leases: Iterable[Lease], asking: Lease) -> list[Lease]:
    """The leases that come before `asking`: all granted ones, and planned windows.

    A window gives way to the planned ones that open earlier, or stand earlier in the lab file; a
    person's lease gives way to every planned window, so that nobody loses a lesson to a walk-in.
    """
    return [
        lease
        for lease in leases
        if lease.id != asking.id
        and (lease.granted or (lease.state is LeaseState.PLANNED and _goes_first(lease, asking)))
    ]


def _goes_first(planned: Lease, asking: Lease) -> bool:
    if asking.window is None:
        return True
    return (planned.begins, planned.order) < (asking.begins, asking.order)


def crowded_at(
    leases: Sequence[Lease], nodes: int, opens: datetime, closes: datetime, max_nodes: int
) -> datetime | None:
    """The first instant of [opens, closes) at which so many more nodes do not fit; None when they do."""
    edges = sorted({opens, *(lease.opens for lease in leases if opens < lease.opens < closes)})
    for edge in edges:
        if taken_at(leases, edge) + nodes > max_nodes:
            return edge
    return None


def full(lease: Lease, max_nodes: int, before: Sequence[Lease]) -> Reason | None:
    """Why a lease does not fit beside the ones that come before it; None when it fits."""
    at = crowded_at(before, lease.nodes, lease.opens, lease.closes, max_nodes)
    if at is None:
        return None
    there = [other for other in before if other.opens <= at < other.closes]
    if not there:
        return reason("lease.too-many-nodes", nodes=lease.nodes, pool=lease.pool, most=max_nodes)
    return reason(
        "lease.pool-full",
        pool=lease.pool,
        at=at,
        leases=tuple(reason("lease.with-nodes", lease=one.called(), nodes=one.nodes) for one in there),
        nodes=lease.nodes,
        wanted=taken_at(before, at) + lease.nodes,
        most=max_nodes,
    )


def taken_at(leases: Iterable[Lease], at: datetime) -> int:
    """The nodes that these leases have, or will have, at an instant."""
    return sum(lease.nodes for lease in leases if lease.opens <= at < lease.closes)
