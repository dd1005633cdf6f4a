"""The price of a node for an hour, with its source and age, and which of several prices counts.

The price in the lab file counts first. Otherwise the newer of two counts: AWS's price list, or the table that
Lamplighter ships. Without any price no lease is admitted.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from lamplighter.data import prices
from lamplighter.reasons.reason import Reason, reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

FRESH_FOR = timedelta(days=1)
_WRITTEN_IN_HOURS = 48


class Source(StrEnum):
    """The source of a price."""

    LAB = "lab"
    PRICE_LIST = "price-list"
    TABLE = "table"
    PREPAID = "prepaid"
    """A Capacity Block is paid whole before it begins."""


@dataclass(frozen=True, slots=True)
class Price:
    """A node's price for an hour, in the budget's currency."""

    per_hour: Decimal
    currency: str
    source: Source
    at: datetime | None = None
    """When it was read; None for the price of the lab file."""

    def is_due(self, now: datetime) -> bool:
        """Whether it is time to ask the price list again."""
        return self.at is None or now - self.at >= FRESH_FOR

    def reason(self, now: datetime) -> Reason:
        """`1.237 USD an hour, from AWS's price list 3 hours ago`."""
        price = f"{self.per_hour:f} {self.currency}"
        match self.source:
            case Source.PREPAID:
                return reason("money.price.prepaid")
            case Source.LAB:
                return reason("money.price.lab", price=price)
            case Source.PRICE_LIST:
                return reason("money.price.list", price=price, age=_age(self.at, now))
            case Source.TABLE:
                return reason("money.price.table", price=price, age=_age(self.at, now))


def known_price(lab: "Lab", pool: str, kept: Price | None) -> Price | None:
    """The price of a pool's node that counts; of several types that of the dearest in the table.

    `kept` is the last price from the price list, if there is one. It is that of one type.
    """
    currency, types = lab.guard.budget.currency, lab.pools[pool].types
    stated = lab.pools[pool].price_per_hour
    if stated is not None:
        prepaid = lab.pools[pool].of_block
        return Price(stated, currency, Source.PREPAID if prepaid else Source.LAB)
    if kept is not None and (kept.currency != currency or len(types) > 1):
        kept = None
    shipped = prices.dearest(lab.region, types, currency, fee=lab.pools[pool].has("fee"))
    read = datetime.combine(prices.read_on(), time(), UTC)
    return best(None, kept, None if shipped is None else Price(shipped, currency, Source.TABLE, read))


def best(stated: Price | None, kept: Price | None, table: Price | None) -> Price | None:
    """The price that counts; None where there is none."""
    if stated is not None:
        return stated
    known = [price for price in (kept, table) if price is not None]
    return max(known, key=lambda price: price.at.timestamp() if price.at else 0.0, default=None)


def _age(at: datetime | None, now: datetime) -> Reason:
    if at is None:
        return reason("money.age.unknown")
    hours = max(now - at, timedelta()) // timedelta(hours=1)
    if hours < 1:
        return reason("money.age.now")
    if hours < _WRITTEN_IN_HOURS:
        return reason("money.age.hours", hours=hours)
    return reason("money.age.days", days=hours // 24)
