"""Pods of the pool that do not do their work: each with its own cause, unless its node's explains it.

Pods that wait because all GPUs are in use are no finding: that is what a full lab looks like.
"""

from dataclasses import dataclass

from lamplighter.domain.diagnosis import software, symptoms, workloads
from lamplighter.domain.diagnosis.document import text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.node import Node
from lamplighter.domain.diagnosis.pod import Pod
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import Stage


def judged(snapshot: Snapshot, gathered: Gathered) -> None:
    """Every pod in scope that is not well, and every image that took too long."""
    nodes = {node.name: node for node in snapshot.nodes}
    free = _free(snapshot)
    for pod in snapshot.pods:
        for said in workloads.slow_pulls(snapshot, pod):
            gathered.found("image-pull-slow", pod.called, said)
        guessed = not pod.phase and not snapshot.was_read("kubernetes", "pods")
        if pod.healthy and pod.gpus and pod.phase == "Running":
            _driver_gone(snapshot, gathered, pod)
        if pod.healthy or workloads.is_history(snapshot, pod):
            continue
        if pod.node in gathered.explained:
            _of_its_own(snapshot, gathered, pod, nodes.get(pod.node))
            continue
        # Of a pod that waits for a node nobody but the scheduler says anything.
        placed = bool(pod.node) or pod.phase != "Pending"
        if (placed and _own_cause(snapshot, gathered, pod, nodes.get(pod.node))) or guessed:
            continue
        if not pod.node and pod.phase in {"Pending", ""} and pod.gpus:
            _unplaced(snapshot, gathered, pod, free)
        elif pod.phase == "Pending" and pod.node and not _starts_with_node(pod):
            _not_started(snapshot, gathered, pod)


def _driver_gone(snapshot: Snapshot, gathered: Gathered, pod: Pod) -> None:
    """A pod that runs on, and prints that the driver under it does not work."""
    symptom = symptoms.symptom([snapshot.logs(pod)], snapshot.now, snapshot.since)
    if (
        symptom
        and symptom.cause in {"driver-mismatch", "driver-broken"}
        and pod.node not in gathered.explained
    ):
        gathered.found(symptom.cause, pod.called, f"{pod.called} on {pod.node}: {symptom.said}")


def _starts_with_node(pod: Pod) -> bool:
    """The validator waits for others by design, and is judged by its own rule."""
    return pod.validator


def _of_its_own(snapshot: Snapshot, gathered: Gathered, pod: Pod, node: Node | None) -> None:
    """What no trouble of its node explains: an image that cannot be pulled, or that is too new for any driver there."""
    if node is None or not node.ready or not pod.gpus or pod.operand:
        return
    symptom = workloads.symptom_of(snapshot, pod)
    if symptom and symptom.cause == "driver-too-old":
        gathered.found(symptom.cause, pod.called, f"{pod.called}: {symptom.said}")
    elif symptom is None and (said := workloads.pull_failure(snapshot, pod)):
        gathered.found("image-pull-failed", pod.called, said)


def _own_cause(snapshot: Snapshot, gathered: Gathered, pod: Pod, node: Node | None) -> bool:
    if symptom := workloads.symptom_of(snapshot, pod):
        cause = software.resolved(snapshot, node, symptom.cause)
        about = snapshot.name if cause == "wrong-ami" else pod.called
        gathered.found(cause, about, f"{pod.called}: {symptom.said}")
        return True
    if said := workloads.pull_failure(snapshot, pod):
        gathered.found("image-pull-failed", pod.called, said)
        return True
    if said := workloads.refused(snapshot, pod):
        gathered.found("admission-refused", pod.called, said)
        return True
    return False


def _unplaced(snapshot: Snapshot, gathered: Gathered, pod: Pod, free: "_Free | None") -> None:
    """A pod that asks for a GPU and has no node."""
    said = workloads.scheduling_said(snapshot, pod)
    if taint := workloads.kept_away(snapshot, pod):
        gathered.found(
            "untolerated-taint", pod.called, f"{pod.called} has no toleration for the taint {taint}", said
        )
        return
    if gathered.supply_disturbed or workloads.gated(pod):
        return
    if free is None:
        return
    if pod.gpus > free.largest:
        gathered.unknown(
            f"{pod.called} asks for {pod.gpus} GPUs, and no node of the pool has more than {free.largest}"
        )
        return
    # The scheduler sees more than was read here: where it finds no GPU free, none is.
    if pod.gpus > free.most_left or "Insufficient nvidia.com/" in said:
        return
    began = pod.created or snapshot.since
    if snapshot.age(began) <= Stage.SCHEDULING.normal:
        gathered.progress(Stage.SCHEDULING, pod.called, began)
        return
    reason = said or "the scheduler says nothing of it"
    lacking = () if said else snapshot.not_read("kubernetes.events")
    gathered.unknown(f"{pod.called} has no node though a GPU is free: {reason}", lacking)


@dataclass(frozen=True)
class _Free:
    """Of the nodes that take pods: the most GPU units that one has, and that one has left."""

    largest: int
    most_left: int


def _free(snapshot: Snapshot) -> _Free | None:
    """None where no node takes pods."""
    used: dict[str, int] = {}
    for pod in snapshot.pods:
        if pod.node and pod.phase not in {"Succeeded", "Failed"}:
            used[pod.node] = used.get(pod.node, 0) + pod.gpus
    open_nodes = [node for node in snapshot.nodes if node.ready and not node.cordoned]
    if not open_nodes:
        return None
    return _Free(
        largest=max(node.allocatable for node in open_nodes),
        most_left=max(node.allocatable - used.get(node.name, 0) for node in open_nodes),
    )


def _not_started(snapshot: Snapshot, gathered: Gathered, pod: Pod) -> None:
    """A pod that has a node and whose containers do not run yet."""
    pulling = workloads.pulling_since(snapshot, pod)
    if pulling is not None:
        if snapshot.age(pulling) <= Stage.PULL.normal:
            gathered.progress(Stage.PULL, pod.called, pulling)
        else:
            seconds = int(snapshot.age(pulling).total_seconds())
            gathered.found("image-pull-slow", pod.called, f"{pod.called} has been pulling for {seconds} s")
        return
    pulls = [event.last for event in snapshot.events_of(pod) if event.reason == "Pulled" and event.last]
    began = max([snapshot.since, pod.created or snapshot.since, *pulls])
    if snapshot.age(began) <= Stage.START.normal:
        gathered.progress(Stage.START, pod.called, began)
        return
    events = snapshot.events_of(pod)
    waits = [f"{reason} {message}" for _, reason, message in pod.waits()]
    said = str(events[-1]) if events else "; ".join(waits) or text(pod.item, "status", "message")
    lacking = () if events else snapshot.not_read("kubernetes.events")
    gathered.unknown(f"{pod.called} on {pod.node} does not start: {said or 'nothing is said of it'}", lacking)
