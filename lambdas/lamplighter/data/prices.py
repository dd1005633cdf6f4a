"""The price of an instance for an hour, from the table that Lamplighter ships; prices.json has its source and date.

A fallback: a lab file may have its own price, and a running controller may have a newer one.
"""

import json
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((Path(__file__).parent / "prices.json").read_text("utf-8"))
    return document


def _table() -> dict[str, dict[str, str]]:
    regions: dict[str, dict[str, str]] = _document()["regions"]
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
