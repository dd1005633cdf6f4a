"""The AWS regions with EKS where a lab works, and its default zones in each; see regions.json."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((Path(__file__).parent / "regions.json").read_text("utf-8"))
    return document


def _table(name: str) -> dict[str, str]:
    table: dict[str, str] = _document()[name]
    return table


def zones(region: str) -> list[str]:
    """The first three zones of a region; a, b and c for a region that is not in the table."""
    return [f"{region}{letter}" for letter in _table("zones").get(region, "abc")]


def names() -> list[str]:
    """Every region with EKS in the partition aws."""
    return sorted(_table("zones"))


def takes_no_cluster(zone_id: str) -> bool:
    """Whether EKS takes no subnet of a cluster in a zone such as use1-az3."""
    return zone_id in _document()["no_cluster"]


def other_partition(region: str) -> str | None:
    """The partition of a region outside the partition aws, where ARNs begin otherwise."""
    others = _table("other_partitions").items()
    return next((name for start, name in others if region.startswith(f"{start}-")), None)
