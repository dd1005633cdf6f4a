"""When a GPU node is ready: all that must hold, each unmet condition as a sentence.

Decides for one node from what Kubernetes says; polling, deadlines and proving by pods are left to the steps.
The rule is that of the GPU Operator's own sources: its ClusterPolicy says ready with no GPU at all.
"""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.domain.nodes import NodeFacts, PodFacts

VALIDATOR_LABEL = "app=nvidia-operator-validator"
DRIVER_LABELS = ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major")

# Taints that a node carries while it starts; whoever sets them takes them away.
_STARTUP_PREFIXES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_STARTUP_SUFFIXES = ("/agent-not-ready", "/uninitialized", "/startup")
_CORDONED = "node.kubernetes.io/unschedulable"


def not_ready_because(node: NodeFacts, gpus: int | None, validators: Sequence[PodFacts] | None) -> list[str]:
    """Why this node is not ready for GPU work; empty when it is.

    `gpus` are the physical GPUs that its instance type has, None for a type that nobody knows: then the
    count that GPU feature discovery gives is believed. `validators` are the operator's validator pods,
    None where the GPUs are announced by something built in (Bottlerocket, no operator): then what can be
    allocated decides alone.
    """
    if gpus is None:
        gpus = _number(node.labels.get("nvidia.com/gpu.count", "")) or max(node.gpus, 1)
    unmet = _node(node)
    if validators is None:
        return unmet + _announced(node, gpus)
    replicas = _number(node.labels.get("nvidia.com/gpu.replicas", "1")) or 1
    return unmet + _announced(node, gpus * replicas) + _discovered(node, gpus) + _validated(node, validators)


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
    if not node.capacity:
        return ["no device plugin has announced nvidia.com/gpu on it"]
    capacity, allocatable = sum(node.capacity.values()), sum(node.allocatable.values())
    if allocatable != wanted:
        return [f"{allocatable} of {wanted} GPUs can be allocated on it"]
    if capacity != wanted:
        return [f"its capacity is {capacity} GPUs where {wanted} are expected"]
    return []


def _discovered(node: NodeFacts, gpus: int) -> list[str]:
    count = node.labels.get("nvidia.com/gpu.count")
    if count is None:
        return ["GPU feature discovery has not labelled it yet"]
    unmet = []
    if _number(count) != gpus:
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
