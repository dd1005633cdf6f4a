"""The catalogue of experiments: what each changes, what to expect, how long it takes, and what else breaks.

admission.py decides who may run an experiment. The experiments function runs it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from lamplighter.errors import BadInput
from lamplighter.reasons.reason import Reason, reason


class Touches(StrEnum):
    """What an experiment changes, and so what must be restored."""

    RULES = "security-group-rules"
    POLICY = "cluster-policy"
    NOTHING = "nothing"
    """It only creates a pod of its own, and deletes it."""


class Probe(StrEnum):
    """What runs to show the symptom, and again to show that the symptom has ended."""

    NCCL = "nccl"
    """The two-node all_reduce of the ladder."""
    GPU = "gpu"
    """nvidia-smi and vectorAdd on every node of the pool, and the GPUs that can be allocated."""
    NEWER_CUDA = "newer-cuda"
    """A pod whose image needs a CUDA that no driver has yet. The GPU probe proves the restore."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One fault that can be injected on purpose."""

    name: str
    hypothesis: Reason
    changes: tuple[Reason, ...]
    """The changes, a sentence each."""
    touches: Touches
    probe: Probe
    cause: str
    """The cause that the diagnosis must name."""
    symptom: Reason
    """The symptom, as a sentence."""
    breaks: tuple[Reason, ...]
    """What else does not work during the experiment."""
    lasts: timedelta
    """The longest time from the change to the restore."""
    needs_nodes: int = 1

    @property
    def changes_cluster(self) -> bool:
        """Whether it affects more than its own lease."""
        return self.touches is not Touches.NOTHING


def _experiment(
    name: str,
    *,
    touches: Touches,
    probe: Probe,
    cause: str,
    minutes: int,
    changes: Sequence[str] = ("change",),
    breaks: Sequence[str],
    needs_nodes: int = 1,
) -> Experiment:
    """An experiment with its texts of experiment.json, which are named `experiment.catalogue.NAME.PART`."""

    def text(part: str) -> Reason:
        return Reason(f"experiment.catalogue.{name}.{part}")

    return Experiment(
        name=name,
        hypothesis=text("hypothesis"),
        changes=tuple(map(text, changes)),
        touches=touches,
        probe=probe,
        cause=cause,
        symptom=text("symptom"),
        breaks=tuple(map(text, breaks)),
        lasts=timedelta(minutes=minutes),
        needs_nodes=needs_nodes,
    )


NCCL_BLOCKED = _experiment(
    "nccl-blocked",
    touches=Touches.RULES,
    probe=Probe.NCCL,
    cause="nccl-path-blocked",
    minutes=12,
    changes=("change.node", "change.auxiliary"),
    breaks=("breaks.pods", "breaks.webhooks", "breaks.balancers"),
    needs_nodes=2,
)
DEVICE_PLUGIN_OFF = _experiment(
    "device-plugin-off",
    touches=Touches.POLICY,
    probe=Probe.GPU,
    cause="device-plugin-disabled",
    minutes=5,
    breaks=("breaks.pods", "breaks.helm"),
)
TAINT_MISMATCH = _experiment(
    "taint-mismatch",
    touches=Touches.POLICY,
    probe=Probe.GPU,
    cause="untolerated-taint",
    minutes=6,
    breaks=("breaks.pods", "breaks.metrics", "breaks.helm"),
)
DRIVER_IMAGE_TOO_NEW = _experiment(
    "driver-image-too-new",
    touches=Touches.NOTHING,
    probe=Probe.NEWER_CUDA,
    cause="driver-too-old",
    minutes=5,
    breaks=("breaks",),
)

CATALOGUE = {
    experiment.name: experiment
    for experiment in (NCCL_BLOCKED, DEVICE_PLUGIN_OFF, TAINT_MISMATCH, DRIVER_IMAGE_TOO_NEW)
}


def find(name: str) -> Experiment:
    """The experiment of that name; BadInput names the known ones."""
    experiment = CATALOGUE.get(name)
    if experiment is None:
        raise BadInput(unknown(name))
    return experiment


def unknown(name: str) -> Reason:
    """That no experiment has this name, and the known names."""
    return reason("experiment.unknown", name=name[:80], known=tuple(CATALOGUE))
