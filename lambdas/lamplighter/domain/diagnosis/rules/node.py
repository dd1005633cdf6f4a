"""One node of the pool, read from its API document: readiness, taints, and the GPUs it offers."""

from collections.abc import Iterator
from datetime import datetime
from functools import cached_property

from lamplighter.domain.diagnosis.document import Doc, condition, doc, docs, instant, number, text
from lamplighter.domain.gpu.sharing import MIG_STATE
from lamplighter.domain.pool.nodes import GPU_RESOURCES
from lamplighter.reasons.reason import Reason, Said, reason

SHARED = "nvidia.com/gpu.shared"

# Taints of a node that starts or leaves. The component that set one takes it away again.
LIFECYCLE_TAINTS = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "karpenter.sh/",
    "node.eks.amazonaws.com/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "ebs.csi.aws.com/",
)


# eks-node-monitoring-agent (its AcceleratedHardwareReady is hardware.py's) and the kubelet.
_UNWELL = dict.fromkeys(("KernelReady", "StorageReady", "NetworkingReady", "ContainerRuntimeReady"), "False")
_UNWELL |= dict.fromkeys(("DiskPressure", "MemoryPressure", "PIDPressure", "NetworkUnavailable"), "True")


class Node:
    """A node as the API server printed it."""

    def __init__(self, item: Doc) -> None:
        self.item = item
        self.name = text(item, "metadata", "name")
        self.labels = doc(item, "metadata", "labels")
        self.created = instant(item, "metadata", "creationTimestamp")
        self.leaving = instant(item, "metadata", "deletionTimestamp") is not None
        self.instance = text(item, "spec", "providerID").rpartition("/")[2]

    @property
    def instance_type(self) -> str:
        return text(self.labels, "node.kubernetes.io/instance-type")

    @cached_property
    def _ready(self) -> Doc:
        return condition(self.item, "Ready")

    @property
    def ready(self) -> bool:
        return text(self._ready, "status") == "True"

    @property
    def lost_contact(self) -> bool:
        """The control plane no longer hears from its kubelet. That is no stage of a start."""
        return text(self._ready, "status") == "Unknown"

    @property
    def ready_message(self) -> str:
        """Why it is not Ready, in the kubelet's words; "" where it has no Ready condition."""
        parts = [text(self._ready, key) for key in ("reason", "message") if text(self._ready, key)]
        return ": ".join(parts)

    @property
    def unready(self) -> Reason:
        """Why it is not Ready, as evidence."""
        words: Said = self.ready_message or reason("finding.evidence.no-ready-condition")
        return reason("finding.evidence.unready", node=self.name, words=words)

    @property
    def ready_changed(self) -> datetime | None:
        """When it last became Ready or stopped being Ready."""
        return instant(self._ready, "lastTransitionTime") or self.created

    @property
    def bad_conditions(self) -> Iterator[Doc]:
        """Conditions beside Ready that show a problem: the kubelet's and the node monitoring agent's."""
        for condition_ in docs(self.item, "status", "conditions"):
            if text(condition_, "status") == _UNWELL.get(text(condition_, "type")):
                yield condition_

    @property
    def cordoned(self) -> bool:
        return bool(doc(self.item, "spec").get("unschedulable"))

    @cached_property
    def brings_plugin(self) -> bool:
        """Whether its image announces the GPUs without a pod: Bottlerocket for NVIDIA, EKS Auto Mode."""
        image = text(self.item, "status", "nodeInfo", "osImage")
        rocket = image.startswith("Bottlerocket") and "nvidia" in image.lower()
        return rocket or text(self.labels, "eks.amazonaws.com/compute-type") == "auto"

    @cached_property
    def taints(self) -> list[Doc]:
        """Taints that keep pods away permanently: not those of a start, not preferences."""
        return [
            taint
            for taint in docs(self.item, "spec", "taints")
            if not text(taint, "key").startswith(LIFECYCLE_TAINTS)
            and text(taint, "effect") in {"NoSchedule", "NoExecute"}
        ]

    @cached_property
    def replicas(self) -> int:
        """How many schedulable units one GPU is shared as."""
        return number(self.labels, "nvidia.com/gpu.replicas") or 1

    def _units(self, which: str) -> int | None:
        """GPU units of capacity or allocatable; None where the resource was never announced."""
        resources = doc(self.item, "status", which)
        if number(self.item, "status", "allocatable", SHARED):
            # Sharing renamed the resource: what the plugin offered under the old name is history.
            return number(resources, SHARED)
        whole = [number(resources, name) for name in GPU_RESOURCES if name in resources]
        slices = [number(resources, name) for name in resources if str(name).startswith("nvidia.com/mig-")]
        counted = [count for count in whole + slices if count is not None]
        return sum(counted) if counted else None

    @cached_property
    def allocatable(self) -> int:
        return self._units("allocatable") or 0

    @cached_property
    def announced(self) -> bool:
        """Whether a device plugin ever announced the resource."""
        return self._units("allocatable") is not None or self._units("capacity") is not None

    @cached_property
    def capacity(self) -> int:
        units = self._units("capacity")
        return self.allocatable if units is None else units

    @property
    def sliced(self) -> bool:
        """Whether MIG slices its GPUs. The MIG profile decides how many units a GPU gives."""
        resources = doc(self.item, "status", "allocatable")
        named = any(str(name).startswith("nvidia.com/mig-") for name in resources)
        return named or "-MIG-" in text(self.labels, "nvidia.com/gpu.product")

    @property
    def dividing(self) -> bool:
        """Whether the MIG manager divides its GPUs now, perhaps with a restart of the node."""
        return text(self.labels, MIG_STATE) in {"pending", "rebooting"}

    def short_of(self, gpus: int) -> Reason | None:
        """How it offers too few GPUs where `gpus` physical ones are expected; None when it offers all."""
        counted = number(self.labels, "nvidia.com/gpu.count")
        if self.allocatable < self.capacity:
            return reason(
                "finding.evidence.offers-part",
                node=self.name,
                offered=self.allocatable,
                capacity=self.capacity,
            )
        if self.sliced and self.allocatable:
            return None
        if counted is not None and counted < gpus:
            return reason("finding.evidence.discovery-counts", node=self.name, counted=counted, expected=gpus)
        expected = gpus * self.replicas
        if self.allocatable < expected:
            return reason(
                "finding.evidence.offers-fewer",
                node=self.name,
                offered=self.allocatable,
                expected=expected,
            )
        return None
