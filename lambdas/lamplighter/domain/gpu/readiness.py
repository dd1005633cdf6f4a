"""When a GPU node is ready: all that must hold where its GPUs come from, each unmet condition as a sentence.

Decides for one node from what Kubernetes says; polling, deadlines and proving by pods are left to the steps.
With the GPU Operator the rule is that of its own sources: its ClusterPolicy says ready with no GPU at all.
The device-plugin chart validates nothing and labels only where GPU feature discovery is on; a plugin that the
image brings along (Bottlerocket, EKS Auto Mode) shows nothing but what can be allocated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.pool.nodes import NodeFacts, PodFacts
from lamplighter.lab.model import GpuStack

VALIDATOR_LABEL = "app=nvidia-operator-validator"
DRIVER_LABELS = ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major")

# Taints that a node carries while it starts; whoever sets them takes them away.
_STARTUP_PREFIXES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_STARTUP_SUFFIXES = ("/agent-not-ready", "/uninitialized", "/startup")
_CORDONED = "node.kubernetes.io/unschedulable"
# How a node of EKS Auto Mode is known, in a cluster where others are not.
_AUTO_MODE = ("eks.amazonaws.com/compute-type", "auto")


@dataclass(frozen=True)
class GpuSignals:
    """What announces a node's GPUs, and what it shows of them."""

    kind: GpuStack = "operator"
    discovery: bool = True
    """GPU feature discovery labels the node."""
    validators: Sequence[PodFacts] = ()
    """The operator's validator pods, on any node."""

    def on(self, node: NodeFacts) -> "GpuSignals":
        """What it is on this node: one of Auto Mode has a plugin of its own, whatever the pool is said to have."""
        key, auto = _AUTO_MODE
        return GpuSignals("built-in", discovery=False) if node.labels.get(key) == auto else self


def not_ready_because(
    node: NodeFacts, gpus: int | None, stack: GpuSignals, *, slices: int = 1, replicas: int = 1
) -> list[str]:
    """Why this node is not ready for GPU work; empty when it is.

    `gpus` are the physical GPUs that its instance type has, None for a type that nobody knows: then the
    count that GPU feature discovery gives is believed. `slices` is into how many each GPU is cut, where it
    is; `replicas` for how many pods each was asked to be, where no label says so.
    """
    stack = stack.on(node)
    if gpus is None:
        gpus = _number(node.labels.get("nvidia.com/gpu.count", "")) or max(node.gpus, 1)
    unmet = _node(node)
    if stack.kind == "built-in":
        return unmet + _allocatable(node, gpus)
    if stack.discovery:
        replicas = _number(node.labels.get("nvidia.com/gpu.replicas", "1")) or 1
    unmet += _announced(node, gpus * slices * replicas)
    if stack.discovery:
        unmet += _discovered(node, gpus, slices)
    return unmet + _validated(node, stack.validators) if stack.kind == "operator" else unmet


def _node(node: NodeFacts) -> list[str]:
    unmet = []
    if not node.ready:
        unmet.append(f"its kubelet is not Ready{': ' + node.ready_message if node.ready_message else ''}")
    unmet += [f"it still has the startup taint {taint}" for taint in node.taints if _startup(taint.key)]
    if node.cordoned:
        unmet.append("it is cordoned")
    return unmet


def _startup(key: str) -> bool:
    if key == _CORDONED:
        return False
    return key.startswith(_STARTUP_PREFIXES) or key.endswith(_STARTUP_SUFFIXES)


def _announced(node: NodeFacts, wanted: int) -> list[str]:
    unmet = _allocatable(node, wanted)
    # A resource that went by another name before stays in the capacity for minutes, with nothing to allocate.
    offered = {name for name, count in node.allocatable.items() if count} or set(node.capacity)
    capacity = sum(count for name, count in node.capacity.items() if name in offered)
    if not unmet and capacity != wanted:
        return [f"its capacity is {capacity} GPUs where {wanted} are expected"]
    return unmet


def _allocatable(node: NodeFacts, wanted: int) -> list[str]:
    if not node.capacity and not node.allocatable:
        return ["no device plugin has announced nvidia.com/gpu on it"]
    return [] if node.gpus == wanted else [f"{node.gpus} of {wanted} GPUs can be allocated on it"]


def _discovered(node: NodeFacts, gpus: int, slices: int) -> list[str]:
    count = node.labels.get("nvidia.com/gpu.count")
    if count is None:
        return ["GPU feature discovery has not labelled it yet"]
    unmet = []
    # Slices that are all alike are counted as GPUs, those of several sizes under names of their own.
    if _number(count) not in {gpus, gpus * slices}:
        unmet.append(f"GPU feature discovery counts {count} GPUs where its instance type has {gpus}")
    if not any(label in node.labels for label in DRIVER_LABELS):
        unmet.append("GPU feature discovery has not named its driver yet")
    return unmet


def _validated(node: NodeFacts, validators: Sequence[PodFacts]) -> list[str]:
    here = [pod for pod in validators if pod.node == node.name and not pod.leaving]
    if not here:
        return ["the operator's validator has not started on it"]
    if not any(pod.ready for pod in here):
        waits = next((pod.waiting for pod in here if pod.waiting), "")
        return [f"the operator's validator on it is not Ready yet{': ' + waits if waits else ''}"]
    if not any(pod.ready and _newer(pod.created, node.created) for pod in here):
        return ["the operator's validator on it is older than the node"]
    return []


def _newer(pod: datetime, node: datetime) -> bool:
    """Both by the API server's clock, which keeps whole seconds."""
    return pod >= node


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
