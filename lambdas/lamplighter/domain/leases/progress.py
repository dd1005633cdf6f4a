"""The progress of a lease's warm-up, which the steps of OpenLab note: stages, each with a count.

Five stages are steps of the workflow. Between them lies the boot of the nodes, in stages of its own; nodes of a
NodePool also have the stages of their NodeClaims.
No decision uses it. views/stages.py says what it means at an instant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias, TypeVar


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


class ClaimStage(StrEnum):
    """The stages of a NodeClaim until its node is initialized, in order; claim_stages.py reads them."""

    LAUNCHED = "claim-launched"
    REGISTERED = "claim-registered"
    INITIALIZED = "claim-initialized"


WarmUpStage: TypeAlias = Stage | BootStage | ClaimStage
IN_ORDER: tuple[WarmUpStage, ...] = (
    Stage.ARMED,
    Stage.NODES,
    ClaimStage.LAUNCHED,
    BootStage.JOINED,
    ClaimStage.REGISTERED,
    BootStage.READY,
    Stage.SETTINGS,
    BootStage.DRIVER,
    BootStage.TOOLKIT,
    BootStage.CUDA,
    BootStage.PLUGIN,
    ClaimStage.INITIALIZED,
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
        """Whether all of it is done. Of nodes that come with pods there may be nothing to do yet."""
        return 0 < self.of <= self.done


Progress: TypeAlias = Mapping[WarmUpStage, Noted]
S = TypeVar("S")


def lengths(progress: Progress) -> dict[str, int]:
    """How many seconds each finished stage took, for the receipt."""
    return {
        stage.value: round((noted.at - noted.since).total_seconds())
        for stage in IN_ORDER
        if (noted := progress.get(stage)) is not None and noted.whole
    }


def in_turn(
    began: Mapping[str, datetime], ends: Mapping[str, Mapping[S, datetime]], steps: Sequence[S], most: int
) -> dict[S, Noted]:
    """Stages that each node or claim passes one after the other; a stage that none has begun is left out.

    `began` has each name and when its first stage began, `ends` when it finished each stage. A lease has at most
    `most` of them: those of other leases may be among them.
    """
    found: dict[S, Noted] = {}
    begins = dict(began)
    of = min(most, len(began))
    for step in steps:
        if not begins or not of:
            break
        ended = sorted(end for name in begins if (end := ends[name].get(step)) is not None)
        since = min(begins.values())
        # The first `most` are the lease's.
        mine = ended[:of]
        found[step] = Noted(len(mine), of, since, max([since, *mine]))
        begins = {name: ends[name][step] for name in begins if step in ends[name]}
    return found


def share(lease_nodes: int, there: int, wanted: int) -> int:
    """How many of the nodes `there` belong to a lease, if all leases together justify `wanted`.

    Nodes that others justify were there before: a lease that comes has what is left.
    """
    return max(0, min(lease_nodes, there - max(0, wanted - lease_nodes)))
