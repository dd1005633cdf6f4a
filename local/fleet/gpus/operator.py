"""The GPU Operator's controller: makes labels, DaemonSets and a status from its ClusterPolicy.

It acts only while its own pod runs. It behaves like the real one: it is ready without any GPU node, and ready with
DaemonSets that fit no node. It deletes a DaemonSet at once when its part is switched off.
"""

import json
from collections.abc import Iterator

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.gpus.gpu_labels import PCI_NVIDIA
from local.fleet.gpus.mig import CAPABLE
from local.fleet.gpus.operands import MIG_MANAGER, OPERANDS, Operand, daemonset, deploy_labels
from local.fleet.node_object import GPU_PRESENT
from local.fleet.world import World, labels, ready
from local.kubernetes.api import Object

POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
_OPERANDS_OFF = "nvidia.com/gpu.deploy.operands"
_MANAGER = "gpu-operator"
_RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"


class Operator:
    """Call `notice` whenever nodes, DaemonSets, pods or policies changed. The operator finds the change itself."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._dirty = False
        self._applied: dict[str, str] = {}
        world.coroutines.tell(self._reconcile_for_ever())

    def notice(self) -> None:
        self._dirty = True
        self._world.coroutines.look_again()

    def _reconcile_for_ever(self) -> Iterator[Pause]:
        while True:
            yield Until(lambda: self._dirty)
            # The same in each round: Kubernetes' controllers decide how many pods there are.
            yield self._world.timings.of(timings.RECONCILE, "reconcile")
            self._dirty = False
            namespace = self._namespace()
            if namespace:
                self._reconcile(namespace)

    def _namespace(self) -> str | None:
        """The namespace of the operator's own pod. Without this pod nothing is reconciled."""
        for pod in self._world.pods.all():
            if labels(pod).get("app") == "gpu-operator" and ready(pod):
                return str(pod["metadata"]["namespace"])
        return None

    def _reconcile(self, namespace: str) -> None:
        policies = sorted(self._world.policies.all(), key=lambda one: one["metadata"]["creationTimestamp"])
        for extra in policies[1:]:
            self._write_status(extra, {"state": "ignored", "namespace": namespace})
        if not policies:
            self._applied.clear()
            return
        policy = policies[0]
        spec = policy["spec"]
        self._ensure_runtime_class(spec.get("operator", {}).get("runtimeClass", "nvidia"))
        gpu_nodes = [node for node in self._world.nodes.all() if PCI_NVIDIA in labels(node)]
        for node in gpu_nodes:
            self._mark(node)
        for operand in OPERANDS:
            self._bring_about(operand, policy, namespace)
        waiting = [
            operand.state
            for operand in OPERANDS
            if operand.wanted(spec) and not self._rolled_out(namespace, operand)
        ]
        self._write_status(policy, self._status(namespace, waiting, anywhere=bool(gpu_nodes)))

    def _mark(self, node: Object) -> None:
        """Asks a GPU node to run the operands. A value that somebody else has set stays."""
        present = labels(node)
        on = "false" if present.get(_OPERANDS_OFF) == "false" else "true"
        asked = [label for label in deploy_labels() if label != MIG_MANAGER or present.get(CAPABLE) == "true"]
        wanted = {label: on for label in asked if label not in present or on == "false"}
        wanted[GPU_PRESENT] = "true"
        missing = {label: value for label, value in wanted.items() if present.get(label) != value}
        if missing:
            name = node["metadata"]["name"]
            self._world.api.merge(f"/api/v1/nodes/{name}", {"metadata": {"labels": missing}})

    def _bring_about(self, operand: Operand, policy: Object, namespace: str) -> None:
        address = f"/apis/apps/v1/namespaces/{namespace}/daemonsets/{operand.name}"
        exists = self._world.daemonsets.find(namespace, operand.name) is not None
        if not operand.wanted(policy["spec"]):
            self._applied.pop(operand.name, None)
            if exists:
                self._world.api.delete(address)
            return
        owner = {
            "apiVersion": policy["apiVersion"],
            "kind": policy["kind"],
            "name": policy["metadata"]["name"],
            "uid": policy["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        manifest = daemonset(operand, policy["spec"], namespace, owner)
        text = json.dumps(manifest, sort_keys=True)
        if self._applied.get(operand.name) != text or not exists:
            self._world.api.apply(address, manifest, _MANAGER)
            self._applied[operand.name] = text

    def _rolled_out(self, namespace: str, operand: Operand) -> bool:
        found = self._world.daemonsets.find(namespace, operand.name)
        status = (found or {}).get("status", {})
        if not found or status.get("observedGeneration", 0) < found["metadata"]["generation"]:
            return False
        counts = {
            status.get(count, 0)
            for count in ("desiredNumberScheduled", "numberAvailable", "updatedNumberScheduled")
        }
        return len(counts) == 1

    def _status(self, namespace: str, waiting: list[str], *, anywhere: bool) -> Object:
        if waiting:
            message = f"ClusterPolicy is not ready, states not ready: [{' '.join(waiting)}]"
            return {
                "state": "notReady",
                "namespace": namespace,
                "conditions": [
                    _condition("Ready", "False", "Error", ""),
                    _condition("Error", "True", "OperandNotReady", message),
                ],
            }
        reason, message = "Reconciled", "All resources have been successfully reconciled"
        if not anywhere:
            discovered = any(
                label.startswith("feature.node.kubernetes.io/")
                for node in self._world.nodes.all()
                for label in labels(node)
            )
            reason, message = (
                ("NoGPUNodes", "No GPU node found, watching for new nodes to join the cluster.")
                if discovered
                else ("NFDLabelsMissing", "No NFD labels found, is node-feature-discovery deployed?")
            )
        return {
            "state": "ready",
            "namespace": namespace,
            "conditions": [
                _condition("Ready", "True", reason, message),
                _condition("Error", "False", "Ready", ""),
            ],
        }

    def _write_status(self, policy: Object, status: Object) -> None:
        """Writes the status only when it changes. A condition keeps the instant of its last change."""
        before = policy.get("status", {})
        old = {one["type"]: one for one in before.get("conditions", [])}
        for condition in status.get("conditions", []):
            earlier = old.get(condition["type"], {})
            turned = earlier.get("status") != condition["status"]
            condition["lastTransitionTime"] = (
                self._world.timestamp() if turned else earlier["lastTransitionTime"]
            )
        if before != status:
            self._world.api.merge(f"{POLICIES}/{policy['metadata']['name']}/status", {"status": status})

    def _ensure_runtime_class(self, name: str) -> None:
        if not self._world.api.find(f"{_RUNTIME_CLASSES}/{name}"):
            runtime_class = {"metadata": {"name": name}, "handler": name}
            self._world.api.create(_RUNTIME_CLASSES, runtime_class)


def _condition(kind: str, status: str, reason: str, message: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
    }
