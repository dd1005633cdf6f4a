"""The catalogue: each experiment with what it changes, what to expect, how long it takes and what else breaks.

Owns the words and the numbers; who may run one is admission.py's, doing it the experiments function's.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from lamplighter.errors import BadInput


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
    hypothesis: str
    changes: tuple[str, ...]
    """What is changed, a sentence each."""
    touches: Touches
    probe: Probe
    cause: str
    """The cause that the diagnosis must name."""
    symptom: str
    """What is seen of it, in words."""
    breaks: tuple[str, ...]
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
    hypothesis="NCCL between two nodes needs the security groups to let the nodes' high ports through; "
    "without them the ranks never meet, and nothing says so for two minutes.",
    changes=(
        "The rule that lets the node group reach itself on 1025-65535/tcp is taken from the node security group.",
        "The rule that lets in everything from the VPC is taken from the auxiliary security group.",
    ),
    touches=Touches.RULES,
    probe=Probe.NCCL,
    cause="nccl-path-blocked",
    symptom="Both pods of the all_reduce run, and no line of a result comes: PyTorch's rendezvous times out "
    "after 120 seconds, before NCCL prints anything.",
    breaks=(
        (
            "Nodes reach each other on DNS alone: every other connection between pods of two nodes hangs, "
            "in all pools and on the system nodes."
        ),
        (
            "Webhooks and API services that the control plane reaches on other ports than 443, 4443, 6443, 8443, "
            "9443, 10250 and 10251 do not answer: what they guard cannot be created or changed."
        ),
        "Load balancers of type instance or ip do not reach their pods, and metrics across nodes are missing.",
    ),
    lasts=timedelta(minutes=12),
    needs_nodes=2,
)
DEVICE_PLUGIN_OFF = Experiment(
    name="device-plugin-off",
    hypothesis="Without the device plugin a healthy GPU is invisible: the node stays Ready, the ClusterPolicy "
    "says ready, and pods wait for a GPU that nobody offers.",
    changes=("devicePlugin.enabled of the ClusterPolicy becomes false.",),
    touches=Touches.POLICY,
    probe=Probe.GPU,
    cause="device-plugin-disabled",
    symptom="Allocatable nvidia.com/gpu becomes 0 within seconds, and a pod that asks for one waits with "
    "Insufficient nvidia.com/gpu, while the ClusterPolicy stays ready.",
    breaks=(
        "No new pod gets a GPU on any node of the cluster; pods that hold one keep it.",
        "A Helm upgrade of the operator conflicts until the experiment is over.",
    ),
    lasts=timedelta(minutes=5),
)
TAINT_MISMATCH = Experiment(
    name="taint-mismatch",
    hypothesis="A toleration has to fit the taint's value: tolerating nvidia.com/gpu=present places nothing on "
    "nodes tainted nvidia.com/gpu=true, and the ClusterPolicy is ready all the same.",
    changes=(
        (
            "daemonsets.tolerations of the ClusterPolicy becomes one that fits no taint of the pool's nodes: "
            "the right key with another value."
        ),
    ),
    touches=Touches.POLICY,
    probe=Probe.GPU,
    cause="untolerated-taint",
    symptom="The operator's DaemonSets want 0 pods on the GPU nodes, their pods go one by one, allocatable "
    "nvidia.com/gpu becomes 0, and the ClusterPolicy still says ready.",
    breaks=(
        "No new pod gets a GPU on any tainted node of the cluster; pods that hold one keep it.",
        "GPU metrics stop: dcgm-exporter goes with the other DaemonSets.",
        "A Helm upgrade of the operator conflicts until the experiment is over.",
    ),
    lasts=timedelta(minutes=6),
)
DRIVER_IMAGE_TOO_NEW = Experiment(
    name="driver-image-too-new",
    hypothesis="A container image states the CUDA it needs, and a node whose driver is older refuses to start it.",
    changes=("One pod is made whose image needs a newer CUDA than the driver of the nodes. Nothing else.",),
    touches=Touches.NOTHING,
    probe=Probe.NEWER_CUDA,
    cause="driver-too-old",
    symptom='The pod does not start: "unsatisfied condition: cuda>=…, please update your driver".',
    breaks=("One GPU of one node is asked for while the pod tries to start.",),
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
        raise BadInput(f"'{name[:80]}' is no experiment, there are {', '.join(CATALOGUE)}")
    return found
