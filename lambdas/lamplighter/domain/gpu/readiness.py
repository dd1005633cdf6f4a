"""When a GPU node is ready: the conditions that must hold, and a reason for each unmet condition.

It decides for one node from what Kubernetes says. The steps poll, have deadlines, and run the checks.
With the GPU Operator the rule is that of its own sources, since its ClusterPolicy says ready without any GPU.
The device-plugin chart validates nothing, and labels nodes only with GPU feature discovery. A device plugin of the
image (Bottlerocket, EKS Auto Mode) shows only what can be allocated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE_LABEL
from lamplighter.domain.pool.nodes import NodeFacts, PodFacts
from lamplighter.lab.model import GpuStack
from lamplighter.reasons.reason import Said, reason
from lamplighter.values.whole_number import whole_number

VALIDATOR_LABEL = "app=nvidia-operator-validator"
DRIVER_LABELS = ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major")

QUOTED = 120
"""Characters of a quotation from Kubernetes: a run's state names every node that is not ready."""

# Taints of a node that starts; the program that sets such a taint removes it.
_STARTUP_PREFIXES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_STARTUP_SUFFIXES = ("/agent-not-ready", "/uninitialized", "/startup")
_CORDONED = "node.kubernetes.io/unschedulable"


@dataclass(frozen=True)
class GpuSignals:
    """What announces a node's GPUs, and what it shows of them."""

    kind: GpuStack = "operator"
    discovery: bool = True
    """GPU feature discovery labels the node."""
    validators: Sequence[PodFacts] = ()
    """The operator's validator pods, on any node."""

    def on(self, node: NodeFacts) -> "GpuSignals":
        """The signals of this node: a node of Auto Mode has a device plugin of its own."""
        key, auto = AUTO_MODE_LABEL
        return GpuSignals("built-in", discovery=False) if node.labels.get(key) == auto else self


def not_ready_because(
    node: NodeFacts, gpus: int | None, stack: GpuSignals, *, slices: int = 1, replicas: int = 1, efa: int = 0
) -> list[Said]:
    """Why this node is not ready for GPU work; empty when it is ready.

    `gpus` are the physical GPUs of its instance type. For an unknown type it is None, and the count of GPU feature
    discovery is taken. `slices` is the number of slices of each GPU; `replicas` is the number of pods that shall
    share a GPU, where no label says so. `efa` are the EFA devices of a node in a pool with EFA; its plugin may announce
    them late.
    """
    stack = stack.on(node)
    if gpus is None:
        gpus = whole_number(node.labels.get("nvidia.com/gpu.count", "")) or max(node.gpus, 1)
    unmet = _node(node)
    if node.efa < efa:
        unmet.append(reason("gpu.efa", allocatable=node.efa, expected=efa))
    if stack.kind == "built-in":
        return unmet + _allocatable(node, gpus)
    if stack.discovery:
        replicas = whole_number(node.labels.get("nvidia.com/gpu.replicas", "1")) or 1
    unmet += _announced(node, gpus * slices * replicas)
    if stack.discovery:
        unmet += _discovered(node, gpus, slices)
    return unmet + _validated(node, stack.validators) if stack.kind == "operator" else unmet


def _node(node: NodeFacts) -> list[Said]:
    unmet: list[Said] = []
    if not node.ready and node.ready_message:
        unmet.append(reason("gpu.kubelet-not-ready-because", words=node.ready_message[:QUOTED]))
    elif not node.ready:
        unmet.append(reason("gpu.kubelet-not-ready"))
    unmet += [reason("gpu.startup-taint", taint=str(taint)) for taint in node.taints if _startup(taint.key)]
    if node.cordoned:
        unmet.append(reason("gpu.cordoned"))
    return unmet


def _startup(key: str) -> bool:
    if key == _CORDONED:
        return False
    return key.startswith(_STARTUP_PREFIXES) or key.endswith(_STARTUP_SUFFIXES)


def _announced(node: NodeFacts, expected: int) -> list[Said]:
    unmet = _allocatable(node, expected)
    # A resource that was renamed stays in the capacity for minutes, with nothing to allocate.
    offered = {name for name, count in node.allocatable.items() if count} or set(node.capacity)
    capacity = sum(count for name, count in node.capacity.items() if name in offered)
    if not unmet and capacity != expected:
        return [reason("gpu.capacity", capacity=capacity, expected=expected)]
    return unmet


def _allocatable(node: NodeFacts, expected: int) -> list[Said]:
    if not node.capacity and not node.allocatable:
        return [reason("gpu.not-announced")]
    if node.gpus == expected:
        return []
    return [reason("gpu.allocatable", allocatable=node.gpus, expected=expected)]


def _discovered(node: NodeFacts, gpus: int, slices: int) -> list[Said]:
    count = node.labels.get("nvidia.com/gpu.count")
    if count is None:
        return [reason("gpu.not-labelled")]
    unmet: list[Said] = []
    # Slices that are all alike are counted as GPUs, slices of several sizes under names of their own.
    if whole_number(count) not in {gpus, gpus * slices}:
        unmet.append(reason("gpu.counted", counted=count, expected=gpus))
    if not any(label in node.labels for label in DRIVER_LABELS):
        unmet.append(reason("gpu.no-driver"))
    return unmet


def _validated(node: NodeFacts, validators: Sequence[PodFacts]) -> list[Said]:
    here = [pod for pod in validators if pod.node == node.name and not pod.leaving]
    if not here:
        return [reason("gpu.no-validator")]
    if not any(pod.ready for pod in here):
        waits = next((pod.waiting for pod in here if pod.waiting), "")
        if waits:
            return [reason("gpu.validator-not-ready-because", words=waits[:QUOTED])]
        return [reason("gpu.validator-not-ready")]
    # Both instants are the API server's, in whole seconds.
    if not any(pod.ready and pod.created >= node.created for pod in here):
        return [reason("gpu.validator-older-than-node")]
    return []
