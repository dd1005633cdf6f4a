"""The price of an instance for an hour, from the tables that Lamplighter ships; they have their sources and dates.

prices.json has EC2's prices, auto_mode_fees.json what EKS Auto Mode adds to them.

A fallback: a lab file may have its own price, and a running controller may have a newer one.
"""

import json
from collections.abc import Collection
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _document(name: str = "prices.json") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((Path(__file__).parent / name).read_text("utf-8"))
    return document


def _table() -> dict[str, dict[str, str]]:
    regions: dict[str, dict[str, str]] = _document()["regions"]
    return regions


def _fees() -> dict[str, dict[str, str]]:
    regions: dict[str, dict[str, str]] = _document("auto_mode_fees.json")["regions"]
    return regions


def read_on() -> date:
    """The date of the table."""
    return date.fromisoformat(_document()["read"])


def on_demand(region: str, instance_type: str, currency: str = "USD") -> Decimal | None:
    """The on-demand Linux price of an instance for an hour; None where the table has none."""
    if currency != "USD":
        return None
    price = _table().get(region, {}).get(instance_type)
    return None if price is None else Decimal(price)


def known_regions() -> list[str]:
    """The regions in the table."""
    return sorted(_table())


def auto_mode_fee(region: str, instance_type: str, currency: str = "USD") -> Decimal | None:
    """What EKS Auto Mode adds to an instance's price for an hour; None where the table has none."""
    if currency != "USD":
        return None
    fee = _fees().get(region, {}).get(instance_type)
    return None if fee is None else Decimal(fee)


@cache
def of_region(region: str, currency: str, *, fee: bool) -> dict[str, Decimal]:
    """The price of a node for an hour of every type that the table has in a region."""
    found = {name: of_a_node(region, name, currency, fee=fee) for name in _table().get(region, {})}
    return {name: price for name, price in found.items() if price is not None}


def dearest(region: str, types: Collection[str], currency: str, *, fee: bool) -> Decimal | None:
    """The price of the dearest of these types; None where the price of one is not known."""
    found = [of_a_node(region, name, currency, fee=fee) for name in types]
    return None if None in found else max((price for price in found if price is not None), default=None)


def of_a_node(region: str, instance_type: str, currency: str, *, fee: bool) -> Decimal | None:
    """The price of a node for an hour: of its instance and, with `fee`, of what EKS Auto Mode adds."""
    price = on_demand(region, instance_type, currency)
    if not fee or price is None:
        return price
    added = auto_mode_fee(region, instance_type, currency)
    return None if added is None else price + added
