"""The charge for node time past or without a lease: counted while it runs, each second once.

Decides the stretch of time that is counted and which lease pays for which part. metering.py measures the node time,
the ledger keeps the charge.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.domain.billing.metering import Grant, Metered
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.pool.target import due

FIRST_LOOK_BACK = timedelta(hours=1)
"""How far back the first count of a pool reaches if the pool never had a lease."""
LEFT_TO_THE_CLOSE = timedelta(minutes=15)
"""A running close counts the node time of its pool; the guard counts what is older than this."""
_BEGAN = frozenset({LeaseState.CLOSING, LeaseState.CLOSED})


@dataclass(frozen=True, slots=True)
class Charge:
    """Node time before `until` that is counted as spent in addition to the leases."""

    pool: str
    until: datetime
    unleased: NodeTime
    overrun: Mapping[str, NodeTime] = field(default_factory=dict)
    """By lease."""

    @property
    def all(self) -> NodeTime:
        """Overrun and unleased together."""
        return sum(self.overrun.values(), self.unleased)


def grants(leases: Iterable[Lease]) -> list[Grant]:
    """The leases as the meter needs them: each up to its real end."""
    return [
        Grant(
            lease.id,
            lease.wanted,
            lease.opens,
            lease.closes,
            frozenset((*lease.replaced, *lease.taken)),
            lease.wanted_before,
            lease.instance_types,
        )
        for lease in leases
        if lease.granted or lease.state in _BEGAN
    ]


def counted_from(leases: Iterable[Lease], counted: datetime | None, until: datetime) -> datetime:
    """The start of the next count: the end of the last one, or the opening of the first lease."""
    if counted is not None:
        return counted
    began = [lease.opens for lease in leases if (lease.granted or lease.state in _BEGAN)]
    return min([opens for opens in began if opens < until], default=until - FIRST_LOOK_BACK)


def counted_to(leases: Sequence[Lease], until: datetime) -> datetime:
    """The end of the next count, in whole seconds.

    It is not after the opening of a window that is due, since that window may still get the running nodes.
    """
    opening = [lease.opens for lease in due(leases, until)]
    return min([*opening, until]).replace(microsecond=0)


def charge(pool: str, leases: Iterable[Lease], metered: Metered, terms: Terms, until: datetime) -> Charge:
    """The charge for metered node time: each lease's overrun at the lease's price, the rest at today's price."""
    overran = [lease for lease in leases if lease.id in metered.past_ends]
    return Charge(
        pool,
        until,
        terms.paid(metered.of_none),
        {lease.id: terms.as_granted(lease).paid(metered.past_ends[lease.id]) for lease in overran},
    )
