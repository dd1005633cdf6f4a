"""What Kubernetes says about nodes and pods, as values.

The adapters fill them; readiness, drain, the checks and the guard judge by them; nothing here decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared")
# Slices under mig.strategy mixed, such as nvidia.com/mig-1g.10gb.
MIG_RESOURCES = "nvidia.com/mig-"


@dataclass(frozen=True)
class NodeTaint:
    """One taint, written `key=value:effect` as kubectl does."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True)
class NodeFacts:
    """A node as the API server knows it. GPU counts are schedulable units: time-slicing multiplies them."""

    name: str
    instance: str
    """EC2 instance id, or "" where the provider id names none."""
    created: datetime
    """By the API server's clock: compare it only with its other timestamps."""
    ready: bool = False
    ready_message: str = ""
    cordoned: bool = False
    taints: tuple[NodeTaint, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, int] = field(default_factory=dict)
    """GPU resources only, such as nvidia.com/gpu; a missing key was never announced."""
    allocatable: Mapping[str, int] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Ours only, those that begin with lamplighter/."""
    protected: bool = False
    """Tells Cluster Autoscaler to leave it alone."""
    ready_since: datetime | None = None
    """When its Ready condition last changed, by the API server's clock."""
    hardware_fault: str = ""
    """Why the node monitoring agent calls its accelerator not ready; empty where it is, or where no agent is."""
    monitored: bool = False
    """Whether the node monitoring agent says anything about its accelerator."""

    @property
    def instance_type(self) -> str:
        return self.labels.get("node.kubernetes.io/instance-type", "")

    @property
    def zone(self) -> str:
        return self.labels.get("topology.kubernetes.io/zone", "")

    @property
    def sliced(self) -> bool:
        """Whether MIG cuts its GPUs: slices that are all alike bear the GPU's resource name, others their own."""
        named = any(name.startswith(MIG_RESOURCES) and count for name, count in self.allocatable.items())
        return named or "-MIG-" in self.labels.get("nvidia.com/gpu.product", "")

    @property
    def gpus(self) -> int:
        """Schedulable GPU units, over all GPU resource names."""
        return sum(self.allocatable.values())


@dataclass(frozen=True)
class PodFacts:
    """A pod as the API server knows it."""

    namespace: str
    name: str
    node: str
    phase: str
    created: datetime
    ready: bool = False
    daemon: bool = False
    """Owned by a DaemonSet: it ends with its node and is never drained."""
    mirror: bool = False
    """A static pod's image: the kubelet owns it."""
    leaving: bool = False
    gpus: int = 0
    accelerated: bool = False
    """Holds a GPU or a part of one, under whatever name the device plugin gives it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Ours only, those that begin with lamplighter/."""
    exit_code: int | None = None
    """Of its first container, once that has ended."""
    waiting: str = ""
    """Why its first container does not run yet, in the kubelet's or the scheduler's words."""
    scheduled: datetime | None = None
    began: datetime | None = None
    """When its first container started, and when it ended; all three by the API server's clock."""
    ended: datetime | None = None
    prepared: Mapping[str, datetime] = field(default_factory=dict)
    """When each init container ended well, by its name, by the API server's clock."""

    @property
    def called(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        return self.phase in {"Succeeded", "Failed"}
