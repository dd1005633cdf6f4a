"""The prices of resources beside the GPU nodes, which the guard does not close; standing.json has source and date."""

import json
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((Path(__file__).parent / "standing.json").read_text("utf-8"))
    return document


def price(region: str, name: str) -> Decimal | None:
    """A price in USD, by its name in standing.json; None where it is not known for the region."""
    document = _document()
    prices = document["everywhere"] | document["regions"].get(region, {})
    return Decimal(prices[name]) if name in prices else None


def known_on() -> date:
    """The date of the prices."""
    return date.fromisoformat(_document()["known"])
