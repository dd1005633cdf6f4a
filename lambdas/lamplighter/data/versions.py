"""Which image types, GPU Operator and Karpenter versions support which Kubernetes versions; see versions.json."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

Family = Literal["al2023", "al2", "bottlerocket", "windows"]


@dataclass(frozen=True, slots=True)
class Fit:
    """A range of Kubernetes minor versions; None is unbounded."""

    first: str | None
    last: str | None

    def holds(self, kubernetes: str) -> bool:
        """Whether a version such as 1.35 is in the range."""
        return order(self.first or "0") <= order(kubernetes) <= order(self.last or "99")

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
def _document() -> dict[str, Any]:
    path = Path(__file__).parent / "versions.json"
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
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
    series = sorted(table, key=order)
    wanted = ".".join(version.removeprefix("v").split(".")[:2])
    older = [name for name in series if order(name) <= order(wanted)]
    if older and older[-1] == series[-1] != wanted:
        return None
    row = table[older[-1] if older else series[0]]
    return Fit(row["from"], row["until"])


def operator_for(kubernetes: str) -> str | None:
    """The newest series known to support a Kubernetes version."""
    for name in sorted(_document()["gpu_operator"], key=order, reverse=True):
        fit = operator_fit(f"v{name}.0")
        if fit and fit.holds(kubernetes):
            return f"v{name}"
    return None


def karpenter_fit(version: str) -> Fit | None:
    """The Kubernetes versions that a Karpenter such as 1.14.3 supports; None for a series that is not in the table."""
    row = _document()["karpenter"].get(".".join(version.split(".")[:2]))
    return None if row is None else Fit(row["from"], row["until"])


def has_static_node_pools(karpenter: str) -> bool:
    """Whether a version of Karpenter has NodePools of a fixed size: the oldest series in the table began with them."""
    return order(karpenter) >= order(min(_document()["karpenter"], key=order))


def karpenter_charts() -> list[str]:
    """The versions of Karpenter whose charts Lamplighter ships, the newest first."""
    charts: list[str] = _document()["karpenter_charts"]
    return sorted(charts, key=order, reverse=True)


def is_bad_karpenter(version: str) -> bool:
    """Whether its own upgrade guide warns of a version of Karpenter."""
    return version in _document()["not_karpenter"]


def order(version: str) -> tuple[int, ...]:
    """The key by which versions such as 1.35 are sorted."""
    return tuple(int(part) for part in version.split("."))
