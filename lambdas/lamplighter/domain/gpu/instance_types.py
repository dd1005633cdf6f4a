"""What an instance type has: which GPU, how many, and the bandwidth below which its network is at fault.

Owns the table of known types (data/gpu/thresholds.json, each figure with its source); judging by it is left to
the verdicts.
"""

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class GpuType:
    """One instance type's GPUs."""

    instance_type: str
    names: tuple[str, ...]
    """As nvidia-smi prints them; the first is today's."""
    count: int
    lacks: frozenset[str]
    """nvidia-smi columns that this model has no value for."""
    busbw_floor: Decimal
    """GB/s of bus bandwidth of a 2-node all_reduce; below it the network is at fault."""

    def with_floor(self, floor: Decimal | None) -> "GpuType":
        """The same with the lab's own floor, where it states one."""
        return self if floor is None else replace(self, busbw_floor=floor)


@dataclass(frozen=True)
class Figure:
    """One figure of the table: its unit, where it comes from, and the most that is allowed where all types share it."""

    unit: str
    source: str
    most: str | None


def gpu_type(instance_type: str) -> GpuType | None:
    """What the type has; None for a type that is not in the table."""
    return types().get(instance_type)


@cache
def known_names() -> frozenset[str]:
    """Every GPU name in the table."""
    return frozenset(name for kind in types().values() for name in kind.names)


@cache
def types() -> dict[str, GpuType]:
    """Every type in the table, by name."""
    data = json.loads(_text())
    found = {}
    for name, row in data["types"].items():
        family = data["families"][name.partition(".")[0]]
        found[name] = GpuType(
            instance_type=name,
            names=tuple(family["names"]),
            count=row["gpus"],
            lacks=frozenset(family["lacks"]),
            busbw_floor=Decimal(row["bus_bandwidth"]),
        )
    return found


def figures() -> dict[str, Figure]:
    """What each figure of the table means, by name."""
    return {
        name: Figure(each["unit"], each["source"], str(each["most"]) if "most" in each else None)
        for name, each in json.loads(_text())["figures"].items()
    }


def _text() -> str:
    return files("lamplighter.data.gpu").joinpath("thresholds.json").read_text("utf-8")
