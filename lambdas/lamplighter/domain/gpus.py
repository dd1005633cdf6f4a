"""What an instance type has: which GPU, how many, and the bandwidth below which its network is at fault.

Owns the table of known types (data/gpus.json, with sources); judging by it is left to the verdicts.
"""

import json
from dataclasses import dataclass
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


def gpu_type(instance_type: str) -> GpuType | None:
    """What the type has; None for a type that is not in the table."""
    return _table().get(instance_type)


@cache
def known_names() -> frozenset[str]:
    """Every GPU name in the table."""
    return frozenset(name for kind in _table().values() for name in kind.names)


@cache
def _table() -> dict[str, GpuType]:
    data = json.loads(files("lamplighter.data").joinpath("gpus.json").read_text("utf-8"))
    found = {}
    for name, row in data["types"].items():
        family = data["families"][name.partition(".")[0]]
        found[name] = GpuType(
            instance_type=name,
            names=tuple(family["names"]),
            count=row["gpus"],
            lacks=frozenset(family["lacks"]),
            busbw_floor=Decimal(row["busbw_floor"]),
        )
    return found
