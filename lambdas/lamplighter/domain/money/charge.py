"""What ran past or without a lease, as a charge: counted as it runs, each second once, whoever closes it.

Owns from when to when it is counted and who answers for which part; how long what ran is metering.py's,
keeping it the ledger's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.metering import Grant, Metered
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.pool.target import due

FIRST_LOOK_BACK = timedelta(hours=1)
"""How far back the first count of a pool without any lease looks for what ran."""
LEFT_TO_THE_CLOSE = timedelta(minutes=15)
"""A close that is under way counts what it closes; the guard counts what is older than that."""
_BEGAN = frozenset({LeaseState.CLOSING, LeaseState.CLOSED})


@dataclass(frozen=True, slots=True)
class Charge:
    """What of [.., until) is counted as spent on top of the leases."""

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
    """What the leases justified, for the meter: each up to where it really ended."""
    return [
        Grant(
            lease.id, lease.wanted, lease.opens, lease.closes, frozenset(lease.replaced), lease.wanted_before
        )
        for lease in leases
        if lease.granted or lease.state in _BEGAN
    ]


def counted_from(leases: Iterable[Lease], counted: datetime | None, until: datetime) -> datetime:
    """From when it is still to be counted: where the last count ended, or the first lease began."""
    if counted is not None:
        return counted
    began = [lease.opens for lease in leases if (lease.granted or lease.state in _BEGAN)]
    return min([opens for opens in began if opens < until], default=until - FIRST_LOOK_BACK)


def counted_to(leases: Sequence[Lease], until: datetime) -> datetime:
    """Until when it can be counted: a window that is due may yet get the nodes that run.

    Whole seconds, as leases are.
    """
    opening = [lease.opens for lease in due(leases, until)]
    return min([*opening, until]).replace(microsecond=0)


def charge(pool: str, leases: Iterable[Lease], metered: Metered, terms: Terms, until: datetime) -> Charge:
    """The charge for what was metered: each lease's overrun at its own price, the rest at today's."""
    currency = terms.budget.currency
    prices = {lease.id: lease.price_per_hour or terms.price_per_hour for lease in leases}
    return Charge(
        pool,
        until,
        NodeTime.at(metered.unleased, terms.price_per_hour, currency),
        {name: NodeTime.at(time, prices[name], currency) for name, time in metered.overrun.items()},
    )
