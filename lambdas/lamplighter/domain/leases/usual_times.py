"""How long each stage of a warm-up usually takes: the median of earlier openings, else a stated normal time.

The receipts keep the measured length of each stage.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from lamplighter.domain.leases.progress import IN_ORDER, BootStage, ClaimStage, Stage, WarmUpStage
from lamplighter.domain.leases.warm_up import ENOUGH, LOOKED_AT


@dataclass(frozen=True, slots=True)
class Usual:
    """The usual length of a stage."""

    length: timedelta
    measured: bool
    """Whether it is the median of earlier openings; otherwise it is the longest normal time."""


UsualTimes = Mapping[WarmUpStage, Usual]

NORMAL: Mapping[WarmUpStage, timedelta] = {
    Stage.ARMED: timedelta(seconds=60),
    Stage.NODES: timedelta(seconds=180),
    BootStage.JOINED: timedelta(seconds=300),
    BootStage.READY: timedelta(seconds=180),
    Stage.SETTINGS: timedelta(seconds=300),
    BootStage.DRIVER: timedelta(seconds=300),
    BootStage.TOOLKIT: timedelta(seconds=300),
    BootStage.CUDA: timedelta(seconds=300),
    BootStage.PLUGIN: timedelta(seconds=300),
    # A node joins, becomes ready and shows its GPUs: after eight minutes AwaitGpus reports it as late, too.
    Stage.GPUS: timedelta(seconds=480),
    Stage.CHECKS: timedelta(minutes=8),
    ClaimStage.LAUNCHED: timedelta(seconds=180),
    ClaimStage.REGISTERED: timedelta(seconds=300),
    # A claim may request GPUs: then its node is initialized when they are offered.
    ClaimStage.INITIALIZED: timedelta(seconds=480),
}
"""Within this a stage is going; the checks' own is the budget of the lease's ladder. A test holds it to the
diagnosis's table, which is too much to load for it."""


def usual_times(stages: Iterable[object]) -> dict[WarmUpStage, Usual]:
    """What each stage took in earlier openings, newest first, as their receipts keep it.

    A stage that fewer than three openings have measured is left out.
    """
    kept = [each for each in stages if isinstance(each, Mapping)]
    found = {}
    for stage in IN_ORDER:
        took = [each[stage.value] for each in kept if isinstance(each.get(stage.value), int)][:LOOKED_AT]
        if len(took) >= ENOUGH:
            found[stage] = Usual(timedelta(seconds=sorted(took)[(len(took) - 1) // 2]), measured=True)
    return found


def usual(stage: WarmUpStage, measured: UsualTimes, normal: timedelta | None = None) -> Usual:
    """The usual length of one stage; `normal` replaces the stated normal time."""
    return measured.get(stage) or Usual(normal or NORMAL[stage], measured=False)
