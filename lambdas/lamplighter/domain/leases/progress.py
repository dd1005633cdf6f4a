"""How far the warm-up of a lease has come, as the steps of OpenLab note it: five stages, each with a count.

Nothing is decided by it; what it means at an instant is said in views/stages.py.
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


@dataclass(frozen=True, slots=True)
class Noted:
    """What was noted of one stage."""

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


Progress: TypeAlias = Mapping[Stage, Noted]


def share(lease_nodes: int, there: int, wanted: int) -> int:
    """How many of the nodes that are there a lease may call its own, where `wanted` are justified in all.

    Nodes that others justify were there before: a lease that comes has what is left.
    """
    return max(0, min(lease_nodes, there - max(0, wanted - lease_nodes)))
