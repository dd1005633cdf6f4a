"""What stands beside the GPU nodes and is not under the guard costs: see standing.json for source and date."""

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
    found = document["everywhere"] | document["regions"].get(region, {})
    return Decimal(found[name]) if name in found else None


def known_on() -> date:
    """The day of the prices."""
    return date.fromisoformat(_document()["known"])
