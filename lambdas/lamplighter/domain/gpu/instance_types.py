"""The known instance types: GPU model, number of GPUs, and the lowest bus bandwidth of a healthy network.

data/gpu/thresholds.json has the table, each figure with its source. The verdicts judge by it.
"""

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib.resources import files

from lamplighter.data import instance_types


@dataclass(frozen=True)
class CollectiveFloor:
    """The lowest bus bandwidth of a healthy all_reduce in GB/s, by the nodes and ranks that take part."""

    nodes: int
    ranks: int
    floor: Decimal


@dataclass(frozen=True)
class GpuType:
    """One instance type's GPUs."""

    instance_type: str
    names: tuple[str, ...]
    """The names that nvidia-smi prints; the first is today's."""
    count: int
    lacks: frozenset[str]
    """The nvidia-smi columns without a value for this model."""
    busbw_floor: Decimal
    """The lowest bus bandwidth of a two-node all_reduce over TCP in GB/s; a lower one fails."""
    tcp_most: Decimal | None = None
    """The most GB/s that TCP carries between two nodes, of a type whose network is EFA; None of any other type."""
    efa: int = 0
    """The EFA devices of a node, in a pool that asks for EFA."""
    fabric: bool = False
    """Whether NVML tells the state of its fabric of NVSwitches."""
    nvlinks: int = 0
    """The NVLinks of each of several GPUs."""
    nvlink_floor: float = 0
    """The GB/s below which such a link is slow."""
    floors: tuple[CollectiveFloor, ...] = ()
    """Of collectives within a node, and over EFA."""

    def with_floor(self, floor: Decimal | None) -> "GpuType":
        """The same type with the lab's own floor between nodes, where the lab has one."""
        if floor is None:
            return self
        within = CollectiveFloor(1, self.count, self.published_floor(1, self.count) or self.busbw_floor)
        return replace(self, busbw_floor=floor, floors=(within,))

    def over_tcp(self) -> "GpuType":
        """The same type in a pool that does not ask for EFA."""
        return replace(self, tcp_most=None, efa=0)

    def published_floor(self, nodes: int, ranks: int) -> Decimal | None:
        """The floor for so many nodes and ranks; None where nobody has published a figure."""
        return next((one.floor for one in self.floors if (one.nodes, one.ranks) == (nodes, ranks)), None)


@dataclass(frozen=True)
class Figure:
    """One figure of the table: its unit, its source, and its limit where all types have the same."""

    unit: str
    source: str
    most: str | None


def gpu_type(instance_type: str) -> GpuType | None:
    """The instance type; None where the table does not have it."""
    return types().get(instance_type)


@cache
def known_names() -> frozenset[str]:
    """Every GPU name in the table."""
    return frozenset(name for kind in types().values() for name in kind.names)


@cache
def types() -> dict[str, GpuType]:
    """Every type in the table, by name."""
    data = json.loads(_text())
    known = {}
    for name, row in data["types"].items():
        family = data["families"][name.partition(".")[0]]
        known[name] = GpuType(
            instance_type=name,
            names=tuple(family["names"]),
            count=row["gpus"],
            lacks=frozenset(family["lacks"]),
            busbw_floor=Decimal(row["bus_bandwidth"]),
            tcp_most=Decimal(family["tcp_most"]) if "tcp_most" in family else None,
            efa=described.efa if (described := instance_types.gpu_type(name)) else 0,
            fabric=row["gpus"] > 1 and family.get("fabric", False),
            nvlinks=family.get("nvlinks", 0) if row["gpus"] > 1 else 0,
            nvlink_floor=family.get("nvlink_floor", 0),
            floors=tuple(
                CollectiveFloor(each["nodes"], each["ranks"], Decimal(each["floor"]))
                for each in data["collectives"]
                if name.partition(".")[0] in each["families"].split()
            ),
        )
    return known


def figures() -> dict[str, Figure]:
    """The figures of the table, by name."""
    return {
        name: Figure(row["unit"], row["source"], str(row["most"]) if "most" in row else None)
        for name, row in json.loads(_text())["figures"].items()
    }


def _text() -> str:
    return files("lamplighter.data.gpu").joinpath("thresholds.json").read_text("utf-8")
