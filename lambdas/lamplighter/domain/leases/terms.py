"""What a lab allows on one pool: its size, price, budget and longest lease, as values.

The rules that use them are in granting/.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Self
from zoneinfo import ZoneInfo

from lamplighter.data import prices
from lamplighter.domain.capacity.reservation import Reservation, ReservedHours
from lamplighter.domain.leases.curfew import Curfew
from lamplighter.domain.money.money import Money, Period, cost, period_of
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.price import Price
from lamplighter.domain.money.spot import Paid, SpotType
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.domain.leases.lease import Lease
    from lamplighter.lab.model import Lab


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms under which leases on a pool are granted."""

    pool: str
    max_nodes: int
    price_per_hour: Decimal
    budget: Money
    per: str
    """The period of the budget: day, week or month."""
    zone: ZoneInfo
    longest: timedelta
    default: timedelta
    curfew: Curfew | None = None
    owners: Mapping[str, Money] = field(default_factory=dict)
    """The budgets of single owners, if the lab sets them."""
    instance_types: tuple[str, ...] = ()
    """The types that a node may have. Of several types, a lease is held at the price of the dearest."""
    prices: Mapping[str, Decimal] = field(default_factory=dict)
    """The known prices of instance types, without a type whose price is that of the pool."""
    most_ahead: int = 40
    """The leases that one person may have granted ahead."""
    longest_ahead: timedelta | None = None
    """The whole length of these; None for any."""
    hours: ReservedHours | None = None
    """The hours of the reservation that the pool is bought from; None for one that is bought otherwise."""

    def hold(self, nodes: int, opens: datetime, closes: datetime) -> Money:
        """The money to hold for `nodes` over [opens, closes)."""
        return cost(nodes, closes - opens, self.price_per_hour, self.budget.currency)

    def price_of(self, paid_by: Paid) -> Decimal:
        """The hourly price of a node. A type of the lease costs no more than was held for it.

        A type without a known price counts at the price of the pool.
        """
        if isinstance(paid_by, SpotType):
            instance_type, price = paid_by
        else:
            instance_type, price = paid_by, self.prices.get(paid_by, self.price_per_hour)
        return min(price, self.price_per_hour) if instance_type in self.instance_types else price

    def paid(self, ran: Mapping[Paid, timedelta]) -> NodeTime:
        """Node time of several types, with its cost: each node at the price of its own type."""
        currency = self.budget.currency
        parts = (NodeTime.at(time, self.price_of(kind), currency) for kind, time in ran.items())
        return sum(parts, NodeTime.nothing(currency))

    def ends(self, opens: datetime, closes: datetime) -> datetime:
        """When a lease over [opens, closes) ends: at the curfew, if that comes first."""
        return self.curfew.ends(opens, closes) if self.curfew else closes

    @property
    def reserved_until(self) -> datetime | None:
        """The instant that no lease may pass, because the pool's reservation ends; None without one."""
        return self.hours.closes if self.hours else None

    def curfew_at(self, at: datetime) -> datetime | None:
        """The curfew that keeps the pool closed at an instant, if there is one."""
        return self.curfew.at(at) if self.curfew else None

    def until(self, closes: datetime) -> Said | datetime:
        """The end of a lease as a reason says it."""
        return reason("lease.at-curfew", at=closes) if self.curfew_at(closes) == closes else closes

    def as_granted(self, lease: "Lease") -> Self:
        """The terms at the price of the lease's grant, and for its types: it is held and paid for at that price."""
        if lease.price_per_hour is None:
            return self
        types = lease.instance_types or self.instance_types
        return replace(self, price_per_hour=lease.price_per_hour, instance_types=types)

    def period(self, at: datetime) -> Period:
        """The budget period of a lease that opens at `at`."""
        return period_of(at, self.per, self.zone)

    def clock(self, at: datetime) -> str:
        """How a reason names an instant: by the lab's own clock."""
        return f"{at.astimezone(self.zone):%H:%M on %Y-%m-%d} ({self.zone.key})"


def terms(lab: "Lab", pool: str, price: Price | None = None, reservation: Reservation | None = None) -> Terms:
    """The terms of a pool, at a known price or the lab's. Raises BadInput if the price of a node is not known.

    `reservation` is the one that the pool is bought from, as it was read last.
    """
    named = lab.pools[pool].reservation
    budget, minute, zone = lab.guard.budget, lab.curfew(pool), zones.zone(lab.time_zone)
    price_of_pool = price.per_hour if price else lab.price(pool)
    types, stated = lab.pools[pool].types, lab.pools[pool].price_per_hour
    own = types if len(types) == 1 or stated is not None else ()
    hours = lab.guard.most_ahead.hours
    known = prices.of_region(lab.region, budget.currency, fee=lab.pools[pool].has("fee"))
    return Terms(
        pool=pool,
        max_nodes=lab.pools[pool].max_nodes,
        price_per_hour=price_of_pool,
        budget=Money.of(budget.amount, budget.currency),
        per=budget.period,
        zone=zone,
        longest=lab.guard.longest_lease,
        default=lab.guard.default_lease,
        curfew=None if minute is None else Curfew(minute, zone),
        owners={owner: Money.of(amount, budget.currency) for owner, amount in budget.owners.items()},
        instance_types=types,
        prices={name: of_type for name, of_type in known.items() if name not in own},
        most_ahead=lab.guard.most_ahead.leases,
        longest_ahead=None if hours is None else timedelta(hours=hours),
        hours=None if named is None else ReservedHours(pool, named, reservation),
    )
