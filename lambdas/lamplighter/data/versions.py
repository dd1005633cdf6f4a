"""Which image types and GPU Operator versions support which Kubernetes versions; see versions.json."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast

Family = Literal["al2023", "al2", "bottlerocket", "windows"]


@dataclass(frozen=True, slots=True)
class Fit:
    """A range of Kubernetes minor versions; None is unbounded."""

    first: str | None
    last: str | None

    def holds(self, kubernetes: str) -> bool:
        """Whether a version such as 1.35 is in the range."""
        return _order(self.first or "0") <= _order(kubernetes) <= _order(self.last or "99")

    def __str__(self) -> str:
        if self.first and self.last:
            return f"{self.first} to {self.last}"
        return f"{self.first} and later" if self.first else f"{self.last} and earlier"


@dataclass(frozen=True, slots=True)
class AmiType:
    """An EKS-optimised image type."""

    architecture: str
    nvidia: bool
    fit: Fit
    family: Family


@cache
def _document() -> dict[str, dict[str, dict[str, str]]]:
    path = Path(__file__).parent / "versions.json"
    document: dict[str, dict[str, dict[str, str]]] = json.loads(path.read_text("utf-8"))
    return document


@cache
def ami_types() -> dict[str, AmiType]:
    """Every image type that our node groups may have."""
    return {
        name: AmiType(
            row["architecture"],
            bool(row["nvidia"]),
            Fit(row.get("from"), row.get("until")),
            cast("Family", row["family"]),
        )
        for name, row in _document()["ami_types"].items()
    }


def operator_fit(version: str) -> Fit | None:
    """The Kubernetes versions that a GPU Operator such as v26.3.1 supports; None for a series newer than the table.

    A series that is older than the table counts as the oldest series in it.
    """
    table = _document()["gpu_operator"]
    series = sorted(table, key=_order)
    wanted = ".".join(version.removeprefix("v").split(".")[:2])
    older = [name for name in series if _order(name) <= _order(wanted)]
    if older and older[-1] == series[-1] != wanted:
        return None
    row = table[older[-1] if older else series[0]]
    return Fit(row["from"], row["until"])


def operator_for(kubernetes: str) -> str | None:
    """The newest series known to support a Kubernetes version."""
    for name in sorted(_document()["gpu_operator"], key=_order, reverse=True):
        fit = operator_fit(f"v{name}.0")
        if fit and fit.holds(kubernetes):
            return f"v{name}"
    return None


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
