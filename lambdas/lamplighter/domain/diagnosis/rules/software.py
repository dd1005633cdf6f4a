"""NVIDIA's software on and around a node: what its pods print, its image, its operator, its validator."""

import re
from collections.abc import Sequence

from lamplighter.domain.diagnosis.document import at, condition, docs, instant, number, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules import workloads
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.pod import Pod, is_operand, is_plugin
from lamplighter.domain.diagnosis.rules.symptoms import NVML_MISSING
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import Stage
from lamplighter.domain.gpu.image import may_have_driver

_NEEDED = re.compile(
    r"nvidia-container-toolkit|nvidia-driver-daemonset|node-feature-discovery-worker|nfd-worker"
)
_OPERATOR = re.compile(r"^gpu-operator$|gpu-operator(?!.*node-feature)|node-feature-discovery-master")
# What the texts of a node's pods can name, the most fundamental first.
_NAMED = (
    "xid",
    "gpu-lost",
    "driver-mismatch",
    "driver-broken",
    "runtime-missing",
    "wrong-ami",
    "driver-too-old",
    "cdi-unresolvable",
    "no-addresses",
)
_RESTARTS = 3
# With these, every operand is ready on the nodes that are there; all others may be why one is not.
_NO_OPERAND_CARES = frozenset(
    {
        "launch-denied",
        "vcpu-quota",
        "no-capacity",
        "node-not-joined",
        "nccl-path-blocked",
        "bandwidth-throttled",
        "image-pull-slow",
        "admission-refused",
        "gpu-lost",
    }
)
_NO_RUNTIME_CLASS = re.compile(r"RuntimeClass \W*nvidia\W* not found", re.IGNORECASE)


def needed_for_gpus(daemonset: str) -> bool:
    """Whether a node offers no GPU without this DaemonSet."""
    return is_plugin(daemonset) or bool(_NEEDED.search(daemonset))


def explained_by_texts(snapshot: Snapshot, gathered: Gathered, node: Node, pods: Sequence[Pod]) -> bool:
    """Whether what the pods say names a cause for the node."""
    found = [
        (_NAMED.index(cause), cause, f"{pod.called}: {symptom.said}")
        for pod in pods
        if (symptom := workloads.symptom_of(snapshot, pod))
        for cause in [resolved(snapshot, node, symptom.cause)]
    ]
    if not found:
        return False
    _, cause, _ = min(found)
    about = snapshot.name if cause == "wrong-ami" else node.name
    said = [text for _, other, text in sorted(found) if other == cause]
    extra = without_driver(snapshot, node) if cause == "wrong-ami" else None
    gathered.found(cause, about, *said, extra or "")
    return True


def resolved(snapshot: Snapshot, node: Node | None, cause: str) -> str:
    """A library or runtime that is missing on an image without the driver is the image's fault."""
    if cause not in {NVML_MISSING, "runtime-missing"}:
        return cause
    return "wrong-ami" if without_driver(snapshot, node) else "runtime-missing"


def without_driver(snapshot: Snapshot, node: Node | None) -> str | None:
    """What says that the node's image has no NVIDIA driver, and that nothing installs one; None otherwise."""
    if at(snapshot.policy, "spec", "driver", "enabled") is True:
        return None
    ami = text(snapshot.nodegroup, "amiType")
    if not may_have_driver(ami):
        return f"amiType is {ami}"
    image = text(node.item, "status", "nodeInfo", "osImage") if node else ""
    plain_bottlerocket = image.startswith("Bottlerocket") and "nvidia" not in image.lower()
    if plain_bottlerocket or image.startswith("Windows"):
        return f"osImage is {image}"
    return None


def operator_down(snapshot: Snapshot, gathered: Gathered) -> bool:
    """The operator's own deployment has no pod that works, for longer than normal."""
    if not snapshot.was_read("kubernetes", "deployments"):
        return _operator_pods_down(snapshot, gathered)
    for deployment in snapshot.listed("kubernetes", "deployments"):
        name = text(deployment, "metadata", "name")
        wanted = number(deployment, "spec", "replicas")
        runs = any(number(deployment, "status", key) for key in ("availableReplicas", "readyReplicas"))
        if not _OPERATOR.search(name) or runs or wanted == 0:
            continue
        state = condition(deployment, "Available")
        began = instant(state, "lastTransitionTime") or instant(deployment, "metadata", "creationTimestamp")
        if snapshot.age(began) <= Stage.OPERATOR.normal:
            if all(each.about != name for each in gathered.in_progress):
                gathered.progress(Stage.OPERATOR, name, began or snapshot.since)
            continue
        if pulls := _operator_pulls(snapshot):
            gathered.found("image-pull-failed", name, *pulls)
            return True
        said = f"deployment {text(deployment, 'metadata', 'namespace')}/{name}: 0 of {wanted or 1} pods available"
        gathered.found("operator-not-ready", name, said, text(state, "message"), *_operator_says(snapshot))
        return True
    return False


def _operator_pulls(snapshot: Snapshot) -> list[str]:
    said = (workloads.pull_failure(snapshot, pod) for pod in snapshot.operator_pods)
    return [each for each in said if each]


def _operator_pods_down(snapshot: Snapshot, gathered: Gathered) -> bool:
    """The same from the pods, where the deployments were not read."""
    pods = [pod for pod in snapshot.operator_pods if pod.name.startswith("gpu-operator")]
    crashes = [f"{pod.called}: container {name} {said}" for pod in pods for name, said in pod.crashing()]
    if any(pod.healthy for pod in pods) or not crashes:
        return False
    gathered.found("operator-not-ready", pods[0].called, *crashes)
    return True


def operator_failed(snapshot: Snapshot) -> bool:
    """The operator itself says that it could not do its work, rather than that an operand is not ready."""
    error = condition(snapshot.policy, "Error")
    return text(error, "status") == "True" and text(error, "reason") in {"ReconcileFailed", "DriverNotReady"}


def operator_reconciles_not(snapshot: Snapshot) -> bool:
    """The operator cannot write what it manages: its own trouble, whatever runs or not."""
    error = condition(snapshot.policy, "Error")
    return text(error, "status") == "True" and text(error, "reason") == "ReconcileFailed"


def not_created(snapshot: Snapshot) -> list[str]:
    """DaemonSets whose pods are rejected because the runtime class that they name does not exist."""
    return [
        f"DaemonSet {name}: {event.message}"
        for _, name, events in snapshot.events_by_kind.get("DaemonSet", ())
        if is_operand(name)
        for event in events[-1:]
        if _NO_RUNTIME_CLASS.search(event.message)
    ]


def _operator_says(snapshot: Snapshot) -> list[str]:
    return [
        f"{pod.called}: {reason} {message}"
        for pod in snapshot.operator_pods
        for _, reason, message in pod.waits()
    ]


def policy_not_ready(snapshot: Snapshot, gathered: Gathered) -> bool:
    """The ClusterPolicy says that it is not ready, for longer than normal. That it is ready says nothing."""
    policy = snapshot.policy
    error, ready = condition(policy, "Error"), condition(policy, "Ready")
    not_ready = text(policy, "status", "state") == "notReady" or text(error, "status") == "True"
    if not not_ready:
        return False
    name = text(policy, "metadata", "name") or "cluster-policy"
    times = [instant(each, "lastTransitionTime") for each in (error, ready) if each]
    began = max([snapshot.since, *(time for time in times if time is not None)])
    if snapshot.age(began) <= Stage.OPERATOR.normal:
        if all(each.about != name for each in gathered.in_progress):
            gathered.progress(Stage.OPERATOR, name, began)
        return False
    said = [
        f"{text(each, 'reason')}: {text(each, 'message')}" for each in (error, ready) if text(each, "message")
    ]
    gathered.found("operator-not-ready", name, f"ClusterPolicy {name} is notReady", *said)
    return True


def validated(snapshot: Snapshot, gathered: Gathered) -> None:
    """The operator's validator on each node that offers its GPUs: through, under way, or stuck."""
    for node in snapshot.nodes:
        if not node.ready or node.name in gathered.explained or node.short_of(snapshot.gpus_per_node):
            continue
        for pod in snapshot.pods_on(node):
            if pod.validator and not pod.healthy and pod.phase:
                _stuck(snapshot, gathered, node, pod)


def _stuck(snapshot: Snapshot, gathered: Gathered, node: Node, pod: Pod) -> None:
    workload = [each for each in snapshot.pods_on(node) if each.validates and not each.healthy]
    if explained_by_texts(snapshot, gathered, node, [pod, *workload]):
        gathered.explained.add(node.name)
        return
    refused = [(each.called, said) for each in workload if (said := workloads.refused(snapshot, each))]
    for called, said in refused:
        gathered.found("admission-refused", called, said)
    if refused:
        return
    if failure := workloads.pull_failure(snapshot, pod):
        gathered.found("image-pull-failed", pod.called, failure)
        return
    began = max(snapshot.since, pod.created or snapshot.since)
    late = snapshot.age(began) > Stage.VALIDATION.normal
    crashes = list(pod.crashing())
    if not late and not (crashes and pod.restarts >= _RESTARTS):
        gathered.progress(Stage.VALIDATION, node.name, began)
        return
    stuck(snapshot, gathered, node, pod)


def stuck(snapshot: Snapshot, gathered: Gathered, node: Node, pod: Pod) -> None:
    """The validator on a node does not get through; says which of its init containers."""
    waits = [(name, f"{reason} {message}") for name, reason, message in pod.waits()]
    where = list(pod.crashing()) or waits or _running(pod)
    said = [f"{pod.called}: container {name}: {why}, {pod.restarts} restarts" for name, why in where[:1]]
    log = snapshot.logs(pod).strip() or snapshot.logs(pod, previous=True).strip()
    gathered.found(
        "validator-stuck", node.name, *(said or [f"{pod.called} is {pod.phase}"]), log.rpartition("\n")[2]
    )


def _running(pod: Pod) -> list[tuple[str, str]]:
    """Init containers that run and do not end."""
    return [
        (text(status, "name"), "runs and does not end")
        for status in docs(pod.item, "status", "initContainerStatuses")
        if at(status, "state", "running") is not None
    ]


def _waits_for_others(snapshot: Snapshot) -> bool:
    """Whether the operands that the ClusterPolicy waits for are on nodes of another pool, by their counts."""
    if text(condition(snapshot.policy, "Error"), "reason") != "OperandNotReady":
        return False
    mine = {node.name for node in snapshot.nodes}
    waiting = False
    for daemonset in snapshot.listed("kubernetes", "daemonsets"):
        name = text(daemonset, "metadata", "name")
        desired = number(daemonset, "status", "desiredNumberScheduled") or 0
        if not is_operand(name) or (number(daemonset, "status", "numberReady") or 0) >= desired:
            continue
        here = [pod for pod in snapshot.pods if pod.node in mine and pod.name.startswith(f"{name}-")]
        if any(not pod.healthy for pod in here) or desired <= len(here):
            return False
        waiting = True
    return waiting


def operator_healthy(snapshot: Snapshot, gathered: Gathered) -> None:
    """At the end: an operator that is down by itself, or not ready where nothing else explains it."""
    if snapshot.nodes and all(node.brings_plugin for node in snapshot.nodes):
        # None of the pool's GPUs come by it.
        return
    if operator_down(snapshot, gathered):
        return
    settling = any(each.stage in {Stage.READY, Stage.GPUS, Stage.VALIDATION} for each in gathered.in_progress)
    explained = bool(gathered.objects.keys() - _NO_OPERAND_CARES) or bool(gathered.unclear) or settling
    explained = explained or _waits_for_others(snapshot)
    # What the operator cannot write has nothing to do with what does not run.
    if operator_reconciles_not(snapshot) or not explained:
        policy_not_ready(snapshot, gathered)


def plugin_fails_quietly(snapshot: Snapshot, gathered: Gathered) -> None:
    """A device plugin that crashes while the node still offers what it announced before."""
    for node in snapshot.nodes:
        if not node.ready or node.name in gathered.explained or node.short_of(snapshot.gpus_per_node):
            continue
        for pod in snapshot.pods_on(node):
            crashes = list(pod.crashing()) if pod.plugin and not pod.healthy else []
            if not crashes:
                continue
            if not explained_by_texts(snapshot, gathered, node, [pod]):
                name, said = crashes[0]
                gathered.found("device-plugin-missing", node.name, f"{pod.called}: container {name} {said}")
            gathered.explained.add(node.name)
