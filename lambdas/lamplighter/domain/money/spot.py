"""The price of a Spot node at each instant, from EC2's history of Spot prices.

EC2 lists each change of a price, and the last one before the time that is asked for. So the price of any second of a
lease is known afterwards. A node of which no price is known is paid at the price of its grant, the on-demand price:
EC2 never charges more for Spot where nobody sets a higher maximum price.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple


class SpotType(NamedTuple):
    """What a Spot node is paid by: the accounts of the meter have it in place of the type."""

    type: str
    per_hour: Decimal


Paid = str | SpotType
"""What node time is paid by: the type of the node, with its price where that is Spot's."""


@dataclass(frozen=True)
class Rate:
    """The Spot price of a type in a zone from an instant on."""

    since: datetime
    per_hour: Decimal


Rates = tuple[Rate, ...]
"""Every change of one price, oldest first."""


def rate_at(rates: Rates, at: datetime) -> Rate | None:
    """The price in force at an instant; None before the first one."""
    return next((rate for rate in reversed(rates) if rate.since <= at), None)


def rates_between(rates: Rates, since: datetime, until: datetime) -> Rates:
    """The prices in force during [since, until)."""
    first = rate_at(rates, since)
    later = tuple(rate for rate in rates if since < rate.since < until)
    return later if first is None else (first, *later)


def summary(lives: Sequence[tuple[Rates, datetime, datetime]], currency: str) -> dict[str, object]:
    """What a receipt says about the Spot prices of its nodes: each is its rates and [since, until)."""
    prices = [rate.per_hour for rates, since, until in lives for rate in rates_between(rates, since, until)]
    known = {"lowest": str(min(prices)), "highest": str(max(prices))} if prices else {}
    unknown = any(rate_at(rates, since) is None for rates, since, _ in lives)
    return {"buy": "spot", "currency": currency, **known, "on_demand_where_unknown": unknown}
