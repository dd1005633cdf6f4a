"""The catalogue: each experiment with what it changes, what to expect, how long it takes and what else breaks.

Owns the words and the numbers; who may run one is admission.py's, doing it the experiments function's.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from lamplighter.errors import BadInput
from lamplighter.reasons.reason import Reason, reason


class Touches(StrEnum):
    """What an experiment changes, and so what has to be put back."""

    RULES = "security-group-rules"
    POLICY = "cluster-policy"
    NOTHING = "nothing"
    """Only a pod of its own is made, and taken away."""


class Probe(StrEnum):
    """What is run to see the symptom, and again to see that it is gone."""

    NCCL = "nccl"
    """The two-node all_reduce of the ladder."""
    GPU = "gpu"
    """nvidia-smi and vectorAdd on every node of the pool, and what they can allocate."""
    NEWER_CUDA = "newer-cuda"
    """A pod whose image asks for a CUDA that no driver has yet; the proof is the GPU probe."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One fault that can be put in on purpose."""

    name: str
    hypothesis: Reason
    changes: tuple[Reason, ...]
    """What is changed, a sentence each."""
    touches: Touches
    probe: Probe
    cause: str
    """The cause that the diagnosis must name."""
    symptom: Reason
    """What is seen of it, in words."""
    breaks: tuple[Reason, ...]
    """What else does not work meanwhile."""
    lasts: timedelta
    """From the change to the restore, at the longest."""
    needs_nodes: int = 1

    @property
    def changes_cluster(self) -> bool:
        """Whether it is felt beyond its own lease."""
        return self.touches is not Touches.NOTHING


NCCL_BLOCKED = Experiment(
    name="nccl-blocked",
    hypothesis=reason("experiment.nccl-blocked.hypothesis"),
    changes=(
        reason("experiment.nccl-blocked.change.node"),
        reason("experiment.nccl-blocked.change.auxiliary"),
    ),
    touches=Touches.RULES,
    probe=Probe.NCCL,
    cause="nccl-path-blocked",
    symptom=reason("experiment.nccl-blocked.symptom"),
    breaks=(
        reason("experiment.nccl-blocked.breaks.pods"),
        reason("experiment.nccl-blocked.breaks.webhooks"),
        reason("experiment.nccl-blocked.breaks.balancers"),
    ),
    lasts=timedelta(minutes=12),
    needs_nodes=2,
)
DEVICE_PLUGIN_OFF = Experiment(
    name="device-plugin-off",
    hypothesis=reason("experiment.device-plugin-off.hypothesis"),
    changes=(reason("experiment.device-plugin-off.change"),),
    touches=Touches.POLICY,
    probe=Probe.GPU,
    cause="device-plugin-disabled",
    symptom=reason("experiment.device-plugin-off.symptom"),
    breaks=(
        reason("experiment.device-plugin-off.breaks.pods"),
        reason("experiment.device-plugin-off.breaks.helm"),
    ),
    lasts=timedelta(minutes=5),
)
TAINT_MISMATCH = Experiment(
    name="taint-mismatch",
    hypothesis=reason("experiment.taint-mismatch.hypothesis"),
    changes=(reason("experiment.taint-mismatch.change"),),
    touches=Touches.POLICY,
    probe=Probe.GPU,
    cause="untolerated-taint",
    symptom=reason("experiment.taint-mismatch.symptom"),
    breaks=(
        reason("experiment.taint-mismatch.breaks.pods"),
        reason("experiment.taint-mismatch.breaks.metrics"),
        reason("experiment.taint-mismatch.breaks.helm"),
    ),
    lasts=timedelta(minutes=6),
)
DRIVER_IMAGE_TOO_NEW = Experiment(
    name="driver-image-too-new",
    hypothesis=reason("experiment.driver-image-too-new.hypothesis"),
    changes=(reason("experiment.driver-image-too-new.change"),),
    touches=Touches.NOTHING,
    probe=Probe.NEWER_CUDA,
    cause="driver-too-old",
    symptom=reason("experiment.driver-image-too-new.symptom"),
    breaks=(reason("experiment.driver-image-too-new.breaks"),),
    lasts=timedelta(minutes=5),
)

CATALOGUE = {
    experiment.name: experiment
    for experiment in (NCCL_BLOCKED, DEVICE_PLUGIN_OFF, TAINT_MISMATCH, DRIVER_IMAGE_TOO_NEW)
}


def find(name: str) -> Experiment:
    """The experiment of that name; BadInput names those there are."""
    found = CATALOGUE.get(name)
    if found is None:
        raise BadInput(unknown(name))
    return found


def unknown(name: str) -> Reason:
    """That no experiment has this name, and which there are."""
    return reason("experiment.unknown", name=name[:80], known=tuple(CATALOGUE))
