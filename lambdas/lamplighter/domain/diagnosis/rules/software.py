"""NVIDIA's software for a node: what its pods print, the node's image, the operator, and the validator."""

import re
from collections.abc import Sequence

from lamplighter.domain.diagnosis.document import at, condition, instant, number, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules import workloads
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.pod import Pod, is_operand, is_plugin
from lamplighter.domain.diagnosis.rules.quotes import quote
from lamplighter.domain.diagnosis.rules.symptoms import NVML_MISSING
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.domain.pool.image import may_have_driver
from lamplighter.reasons.reason import Reason, Said, reason

_NEEDED = re.compile(
    r"nvidia-container-toolkit|nvidia-driver-daemonset|node-feature-discovery-worker|nfd-worker"
)
_OPERATOR = re.compile(r"^gpu-operator$|gpu-operator(?!.*node-feature)|node-feature-discovery-master")
# Causes that the texts of a node's pods can name, the most fundamental first.
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
    "wrong-instance-type",
)
_RESTARTS = 3
# These leave every operand on the existing nodes ready. Any other cause may be why an operand is not.
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
_SETTLING = frozenset({ProvisioningStage.READY, ProvisioningStage.GPUS, ProvisioningStage.VALIDATION})
_NO_RUNTIME_CLASS = re.compile(r"RuntimeClass \W*nvidia\W* not found", re.IGNORECASE)


def needed_for_gpus(daemonset: str) -> bool:
    """Whether a node offers no GPU without this DaemonSet."""
    return is_plugin(daemonset) or bool(_NEEDED.search(daemonset))


def explained_by_texts(snapshot: Snapshot, gathered: Gathered, node: Node, pods: Sequence[Pod]) -> bool:
    """Whether the texts of the pods name a cause for the node; then it is noted."""
    shown = sorted(
        (_NAMED.index(cause), cause, pod.called, symptom.line)
        for pod in pods
        if (symptom := workloads.symptom_of(snapshot, pod))
        for cause in [resolved(snapshot, node, symptom.cause)]
    )
    if not shown:
        return False
    _, cause, _, _ = shown[0]
    about = snapshot.name if cause == "wrong-ami" else node.name
    quotes = [quote(pod, line) for _, other, pod, line in shown if other == cause]
    image = without_driver(snapshot, node) if cause == "wrong-ami" else None
    gathered.found(cause, about, *quotes, image or "")
    return True


def resolved(snapshot: Snapshot, node: Node | None, cause: str) -> str:
    """The cause after a look at the image: without the driver in it, library and runtime are missing too."""
    if cause not in {NVML_MISSING, "runtime-missing"}:
        return cause
    return "wrong-ami" if without_driver(snapshot, node) else "runtime-missing"


def without_driver(snapshot: Snapshot, node: Node | None) -> Reason | None:
    """Evidence that the node's image has no NVIDIA driver and that nothing installs one; None otherwise."""
    if at(snapshot.policy, "spec", "driver", "enabled") is True:
        return None
    ami = text(snapshot.nodegroup, "amiType")
    if not may_have_driver(ami):
        return reason("finding.evidence.ami-type", type=ami)
    image = text(node.item, "status", "nodeInfo", "osImage") if node else ""
    plain_bottlerocket = image.startswith("Bottlerocket") and "nvidia" not in image.lower()
    if plain_bottlerocket or image.startswith("Windows"):
        return reason("finding.evidence.os-image", image=image)
    return None


def operator_down(snapshot: Snapshot, gathered: Gathered) -> bool:
    """Whether the operator's own deployment has had no working pod for longer than normal; then it is noted."""
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
        if snapshot.age(began) <= ProvisioningStage.OPERATOR.normal:
            if all(stage.about != name for stage in gathered.in_progress):
                gathered.progress(ProvisioningStage.OPERATOR, name, began or snapshot.since)
            continue
        if pulls := _operator_pulls(snapshot):
            gathered.found("image-pull-failed", name, *pulls)
            return True
        called = f"{text(deployment, 'metadata', 'namespace')}/{name}"
        down = reason("finding.evidence.deployment-down", deployment=called, wanted=wanted or 1)
        waits = _operator_waits(snapshot)
        gathered.found("operator-not-ready", name, down, text(state, "message"), *waits)
        return True
    return False


def _operator_pulls(snapshot: Snapshot) -> list[Reason]:
    failures = (workloads.pull_failure(snapshot, pod) for pod in snapshot.operator_pods)
    return [failure for failure in failures if failure]


def _operator_pods_down(snapshot: Snapshot, gathered: Gathered) -> bool:
    """The same from the pods, where the deployments were not read."""
    pods = [pod for pod in snapshot.operator_pods if pod.name.startswith("gpu-operator")]
    crashes = [
        reason("finding.evidence.container", pod=pod.called, container=name, state=state)
        for pod in pods
        for name, state in pod.crashing()
    ]
    if any(pod.healthy for pod in pods) or not crashes:
        return False
    gathered.found("operator-not-ready", pods[0].called, *crashes)
    return True


def operator_failed(snapshot: Snapshot) -> bool:
    """Whether the operator reports a failure of its own, rather than an operand that is not ready."""
    error = condition(snapshot.policy, "Error")
    return text(error, "status") == "True" and text(error, "reason") in {"ReconcileFailed", "DriverNotReady"}


def operator_reconciles_not(snapshot: Snapshot) -> bool:
    """Whether the operator cannot write what it manages. That is its own failure, whatever else runs."""
    error = condition(snapshot.policy, "Error")
    return text(error, "status") == "True" and text(error, "reason") == "ReconcileFailed"


def not_created(snapshot: Snapshot) -> list[Reason]:
    """DaemonSets whose pods are rejected because the runtime class that they name does not exist."""
    return [
        quote(f"DaemonSet {name}", event.message)
        for _, name, events in snapshot.events_by_kind.get("DaemonSet", ())
        if is_operand(name)
        for event in events[-1:]
        if _NO_RUNTIME_CLASS.search(event.message)
    ]


def _operator_waits(snapshot: Snapshot) -> list[Reason]:
    return [
        quote(pod.called, f"{code} {message}")
        for pod in snapshot.operator_pods
        for _, code, message in pod.waits()
    ]


def policy_not_ready(snapshot: Snapshot, gathered: Gathered) -> bool:
    """Whether the ClusterPolicy has been notReady for longer than normal. A ready one is no evidence of anything."""
    policy = snapshot.policy
    error, ready = condition(policy, "Error"), condition(policy, "Ready")
    not_ready = text(policy, "status", "state") == "notReady" or text(error, "status") == "True"
    if not not_ready:
        return False
    name = text(policy, "metadata", "name") or "cluster-policy"
    times = [instant(state, "lastTransitionTime") for state in (error, ready) if state]
    began = max([snapshot.since, *(time for time in times if time is not None)])
    if snapshot.age(began) <= ProvisioningStage.OPERATOR.normal:
        if all(stage.about != name for stage in gathered.in_progress):
            gathered.progress(ProvisioningStage.OPERATOR, name, began)
        return False
    messages = [
        f"{text(state, 'reason')}: {text(state, 'message')}"
        for state in (error, ready)
        if text(state, "message")
    ]
    unready = reason("finding.evidence.policy-not-ready", policy=name)
    gathered.found("operator-not-ready", name, unready, *messages)
    return True


def validated(snapshot: Snapshot, gathered: Gathered) -> None:
    """The operator's validator on each node that offers its GPUs: done, in progress, or stuck."""
    for node in snapshot.nodes:
        if not node.ready or node.name in gathered.explained or node.short_of(snapshot.gpus_per_node):
            continue
        for pod in snapshot.pods_on(node):
            if pod.validator and not pod.healthy and pod.phase:
                _stuck(snapshot, gathered, node, pod)


def _stuck(snapshot: Snapshot, gathered: Gathered, node: Node, pod: Pod) -> None:
    workload = [other for other in snapshot.pods_on(node) if other.validates and not other.healthy]
    if explained_by_texts(snapshot, gathered, node, [pod, *workload]):
        gathered.explained.add(node.name)
        return
    refused = [
        (other.called, refusal) for other in workload if (refusal := workloads.refused(snapshot, other))
    ]
    for called, refusal in refused:
        gathered.found("admission-refused", called, refusal)
    if refused:
        return
    if failure := workloads.pull_failure(snapshot, pod):
        gathered.found("image-pull-failed", pod.called, failure)
        return
    began = max(snapshot.since, pod.created or snapshot.since)
    late = snapshot.age(began) > ProvisioningStage.VALIDATION.normal
    crashes = list(pod.crashing())
    if not late and not (crashes and pod.restarts >= _RESTARTS):
        gathered.progress(ProvisioningStage.VALIDATION, node.name, began)
        return
    stuck(snapshot, gathered, node, pod)


def stuck(snapshot: Snapshot, gathered: Gathered, node: Node, pod: Pod) -> None:
    """Notes that the validator on a node does not finish, and which of its init containers is stuck."""
    where = list(pod.crashing()) or pod.first_unended()
    evidence = [restarted(pod, name, state) for name, state in where[:1]] or [
        reason("finding.evidence.phase", pod=pod.called, phase=pod.phase)
    ]
    log = snapshot.logs(pod).strip() or snapshot.logs(pod, previous=True).strip()
    gathered.found("validator-stuck", node.name, *evidence, log.rpartition("\n")[2])


def restarted(pod: Pod, container: str, state: Said) -> Reason:
    """The state of a container, with the number of restarts."""
    return reason(
        "finding.evidence.container-restarts",
        pod=pod.called,
        container=container,
        state=state,
        restarts=pod.restarts,
    )


def _waits_for_others(snapshot: Snapshot) -> bool:
    """Whether the ClusterPolicy waits for operands on nodes of another pool, by their counts."""
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
    """At the end: an operator that is down, or not ready where no other finding explains it."""
    if snapshot.nodes and all(node.brings_plugin for node in snapshot.nodes):
        # This pool gets no GPU from the operator.
        return
    if operator_down(snapshot, gathered):
        return
    settling = any(stage.stage in _SETTLING for stage in gathered.in_progress)
    explained = bool(gathered.objects.keys() - _NO_OPERAND_CARES) or bool(gathered.unclear) or settling
    explained = explained or _waits_for_others(snapshot)
    # What the operator cannot write is independent of what does not run.
    if operator_reconciles_not(snapshot) or not explained:
        policy_not_ready(snapshot, gathered)


def plugin_fails_quietly(snapshot: Snapshot, gathered: Gathered) -> None:
    """A device plugin that crashes while the node still offers the GPUs announced before."""
    for node in snapshot.nodes:
        if not node.ready or node.name in gathered.explained or node.short_of(snapshot.gpus_per_node):
            continue
        for pod in snapshot.pods_on(node):
            crashes = list(pod.crashing()) if pod.plugin and not pod.healthy else []
            if not crashes:
                continue
            if not explained_by_texts(snapshot, gathered, node, [pod]):
                name, state = crashes[0]
                crash = reason("finding.evidence.container", pod=pod.called, container=name, state=state)
                gathered.found("device-plugin-missing", node.name, crash)
            gathered.explained.add(node.name)
