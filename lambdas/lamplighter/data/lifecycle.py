"""Until when AWS supports Kubernetes versions, images and Lambda runtimes; see lifecycle.json.

A version that is not in the table is unknown. That is no error of the lab: new versions appear.
"""

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

#: The runtime of the functions; a test compares the stacks with it.
RUNTIME = "python3.13"


@dataclass(frozen=True, slots=True)
class Support:
    """The days, in UTC, at whose begin standard and extended support of a version end; extended support costs more."""

    standard: date
    extended: date


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((Path(__file__).parent / "lifecycle.json").read_text("utf-8"))
    return document


def known_on() -> date:
    """The date of the table."""
    return date.fromisoformat(_document()["known"])


def kubernetes(version: str) -> Support | None:
    """When EKS's support of a version such as 1.35 ends."""
    found = _document()["kubernetes"].get(version)
    if found is None:
        return None
    return Support(date.fromisoformat(found["standard"]), date.fromisoformat(found["extended"]))


def known_kubernetes() -> list[str]:
    """The versions in the table."""
    return list(_document()["kubernetes"])


def extended_support_hour() -> Decimal:
    """The extra cost of a cluster in extended support for an hour, in USD."""
    return Decimal(_document()["extended_support_hour"])


def amazon_linux_2() -> date:
    """The last day on which AWS publishes EKS-optimised images of Amazon Linux 2."""
    return date.fromisoformat(_document()["amazon_linux_2"])


def runtime(name: str) -> date | None:
    """When Lambda deprecates a runtime such as python3.13."""
    found = _document()["runtimes"].get(name)
    return None if found is None else date.fromisoformat(found)
