"""The AWS regions with EKS, and the default zones of a lab in each; see regions.json."""

import json
from functools import cache
from pathlib import Path


@cache
def _table() -> dict[str, str]:
    document = json.loads((Path(__file__).parent / "regions.json").read_text("utf-8"))
    letters: dict[str, str] = document["zones"]
    return letters


def zones(region: str) -> list[str]:
    """The first three zones of a region; a, b and c for a region that is not in the table."""
    return [f"{region}{letter}" for letter in _table().get(region, "abc")]


def names() -> list[str]:
    """Every region with EKS."""
    return sorted(_table())
