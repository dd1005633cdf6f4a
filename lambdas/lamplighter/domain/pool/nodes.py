"""What Kubernetes says about nodes and pods, as values.

The adapters fill them. Readiness, drain, the checks and the guard decide by them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared")
# Slices under mig.strategy mixed, such as nvidia.com/mig-1g.10gb.
MIG_RESOURCES = "nvidia.com/mig-"
EFA_RESOURCE, HUGE_PAGES = "vpc.amazonaws.com/efa", "hugepages-2Mi"


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
    """A node as the API server has it. GPU counts are schedulable units: time-slicing multiplies them."""

    name: str
    instance: str
    """The EC2 instance id; empty where the provider id has none."""
    created: datetime
    """By the API server's clock: compare it only with timestamps of that clock."""
    ready: bool = False
    ready_message: str = ""
    cordoned: bool = False
    taints: tuple[NodeTaint, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, int] = field(default_factory=dict)
    """GPU resources only, such as nvidia.com/gpu. The node never announced a missing key."""
    allocatable: Mapping[str, int] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Only ours, which begin with lamplighter/."""
    protected: bool = False
    """Whether it has the annotation by which Cluster Autoscaler does not remove it."""
    ready_since: datetime | None = None
    """When its Ready condition last changed, by the API server's clock."""
    hardware_fault: str = ""
    """Why the node monitoring agent reports its accelerator as not ready; empty where it is ready or no agent runs."""
    hardware_fault_since: datetime | None = None
    """When the agent began to report it, by the API server's clock."""
    monitored: bool = False
    """Whether the node monitoring agent reports on its accelerator."""
    efa: int = 0
    """The EFA devices that pods can get."""
    huge_pages: int = 0
    """The MiB that pods can get in huge pages of 2 MiB."""

    @property
    def instance_type(self) -> str:
        return self.labels.get("node.kubernetes.io/instance-type", "")

    @property
    def zone(self) -> str:
        return self.labels.get("topology.kubernetes.io/zone", "")

    @property
    def sliced(self) -> bool:
        """Whether MIG slices its GPUs. Slices of one size have the GPU's resource name, others have their own."""
        named = any(name.startswith(MIG_RESOURCES) and count for name, count in self.allocatable.items())
        return named or "-MIG-" in self.labels.get("nvidia.com/gpu.product", "")

    @property
    def gpus(self) -> int:
        """Schedulable GPU units, over all GPU resource names."""
        return sum(self.allocatable.values())


@dataclass(frozen=True)
class PodFacts:
    """A pod as the API server has it."""

    namespace: str
    name: str
    node: str
    phase: str
    created: datetime
    ready: bool = False
    daemon: bool = False
    """A DaemonSet owns it: it ends with its node and is never evicted."""
    mirror: bool = False
    """The mirror of a static pod: the kubelet owns it."""
    leaving: bool = False
    """Its deletion has begun."""
    gpus: int = 0
    accelerated: bool = False
    """Holds a GPU or a part of one, under any resource name of the device plugin."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Only ours, which begin with lamplighter/."""
    exit_code: int | None = None
    """The exit code of its first container, once that has ended."""
    waiting: str = ""
    """Why its first container does not run yet, in the words of the kubelet or the scheduler."""
    scheduled: datetime | None = None
    began: datetime | None = None
    """When its first container started and ended. All three instants are by the API server's clock."""
    ended: datetime | None = None
    prepared: Mapping[str, datetime] = field(default_factory=dict)
    """When each init container succeeded, by its name and by the API server's clock."""

    @property
    def called(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        return self.phase in {"Succeeded", "Failed"}
