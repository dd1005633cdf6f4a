"""The progress of a lease's warm-up, which the steps of OpenLab note: stages, each with a count.

Five stages are steps of the workflow. Between them lies the boot of the nodes, in stages of its own.
No decision uses it. views/stages.py says what it means at an instant.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias


class Stage(StrEnum):
    """The stages of a warm-up, in their order."""

    ARMED = "armed"
    NODES = "nodes"
    SETTINGS = "settings"
    GPUS = "gpus"
    CHECKS = "checks"


class BootStage(StrEnum):
    """The stages of a fresh node before its GPUs are available, in order; domain/gpu/boot.py reads them."""

    JOINED = "joined"
    READY = "node-ready"
    DRIVER = "driver"
    TOOLKIT = "toolkit"
    CUDA = "cuda"
    PLUGIN = "plugin"


WarmUpStage: TypeAlias = Stage | BootStage
IN_ORDER: tuple[WarmUpStage, ...] = (
    Stage.ARMED,
    Stage.NODES,
    BootStage.JOINED,
    BootStage.READY,
    Stage.SETTINGS,
    BootStage.DRIVER,
    BootStage.TOOLKIT,
    BootStage.CUDA,
    BootStage.PLUGIN,
    Stage.GPUS,
    Stage.CHECKS,
)
"""The order that people see. The settings are applied while the nodes boot, and the operator uses them."""


@dataclass(frozen=True, slots=True)
class Noted:
    """The noted state of one stage."""

    done: int
    of: int
    since: datetime
    """When it was first noted."""
    at: datetime
    """When its count last changed."""

    @property
    def whole(self) -> bool:
        """Whether all of it is done."""
        return self.done >= self.of


Progress: TypeAlias = Mapping[WarmUpStage, Noted]


def lengths(progress: Progress) -> dict[str, int]:
    """How many seconds each finished stage took, for the receipt."""
    return {
        stage.value: round((noted.at - noted.since).total_seconds())
        for stage in IN_ORDER
        if (noted := progress.get(stage)) is not None and noted.whole
    }


def share(lease_nodes: int, there: int, wanted: int) -> int:
    """How many of the nodes `there` belong to a lease, if all leases together justify `wanted`.

    Nodes that others justify were there before: a lease that comes has what is left.
    """
    return max(0, min(lease_nodes, there - max(0, wanted - lease_nodes)))
