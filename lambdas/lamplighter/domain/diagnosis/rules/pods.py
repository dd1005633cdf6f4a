"""Pods of the pool that do not do their work: each with its own cause, unless its node's explains it.

Pods that wait because all GPUs are in use are no finding: that is what a full lab looks like.
"""

from dataclasses import dataclass

from lamplighter.domain.diagnosis.document import text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules import network, software, symptoms, workloads
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.pod import Pod, is_operator
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
        and symptom.cause in {"driver-mismatch", "driver-broken", "xid"}
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
    symptom = workloads.symptom_of(snapshot, pod)
    # A pod that no node has holds no GPU that it could lose.
    if symptom and (pod.node or symptom.cause != "gpu-lost"):
        cause = software.resolved(snapshot, node, symptom.cause)
        about = snapshot.name if cause == "wrong-ami" else pod.called
        gathered.found(cause, about, f"{pod.called}: {symptom.said}")
        gathered.told.add(pod.called)
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
        _closed_to_all(snapshot, gathered, pod, said)
        return
    if pod.gpus > free.largest:
        gathered.unknown(
            f"{pod.called} asks for {pod.gpus} GPUs, and no node of the pool has more than {free.largest}"
        )
        return
    # The scheduler sees more than was read here: where it finds no GPU free, none is.
    if workloads.no_gpu_free(said) or (pod.gpus > free.most_left and not workloads.waits_for_volume(said)):
        return
    began = pod.created or snapshot.since
    if snapshot.age(began) <= Stage.SCHEDULING.normal:
        gathered.progress(Stage.SCHEDULING, pod.called, began)
        return
    reason = said or "the scheduler says nothing of it"
    lacking = () if said else snapshot.not_read("kubernetes.events")
    though = " though a GPU is free" if pod.gpus <= free.most_left else ""
    gathered.unknown(f"{pod.called} has no node{though}: {reason}", lacking)


def _closed_to_all(snapshot: Snapshot, gathered: Gathered, pod: Pod, said: str) -> None:
    """Nodes are there, and every one of them is closed to new pods."""
    cordoned = [node.name for node in snapshot.nodes if node.ready and node.cordoned]
    if cordoned and snapshot.wanted_nodes and snapshot.age(pod.created) > Stage.SCHEDULING.normal:
        closed = f"{', '.join(cordoned)} {'is' if len(cordoned) == 1 else 'are'} cordoned"
        gathered.unknown(f"{pod.called} has no node, {closed}: {said or 'the scheduler says nothing of it'}")


@dataclass(frozen=True)
class _Free:
    """Of the nodes that take pods: the most GPU units that one has, and that one has left."""

    largest: int
    most_left: int


def _free(snapshot: Snapshot) -> _Free | None:
    """None where no node takes pods."""
    used: dict[str, int] = {}
    # A pod that is being deleted holds its GPU until its containers have ended.
    for pod in (*snapshot.pods, *snapshot.leaving_pods):
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


def unexplained(snapshot: Snapshot, gathered: Gathered) -> None:
    """At the end: pods that fail, or run and do not get ready, and of which no rule has said why."""
    under_way = {each.about for each in gathered.in_progress}
    told = under_way | gathered.told | {called for names in gathered.objects.values() for called in names}
    quiet = not gathered.objects and not gathered.unclear
    for pod in snapshot.pods:
        if pod.healthy or pod.phase in {"", "Pending"} or pod.node in gathered.explained | under_way:
            continue
        if workloads.is_history(snapshot, pod):
            continue
        if pod.operand:
            # Of these one waits for the other: what was found already is nearer to the root.
            if quiet and not is_operator(pod.name) and pod.called not in told:
                _without_cause(snapshot, gathered, pod)
        elif not _follows(snapshot, gathered, pod, told):
            _without_cause(snapshot, gathered, pod)


def _follows(snapshot: Snapshot, gathered: Gathered, pod: Pod, told: set[str]) -> bool:
    """Whether it, its job, or a peer in its job has been told: what keeps one rank back ends the others too."""
    peers = network.ranks_of(snapshot, pod)
    names = {each.called for each in peers} | {f"{pod.namespace}/{pod.group}"}
    if told & names or any(each.node in gathered.explained for each in peers):
        return True
    return network.waited_for_peers(snapshot, pod, peers)


def _without_cause(snapshot: Snapshot, gathered: Gathered, pod: Pod) -> None:
    on = f"{pod.called} on {pod.node}" if pod.node else pod.called
    status = " ".join(filter(None, (text(pod.item, "status", "reason"), text(pod.item, "status", "message"))))
    waits = [f"{reason} {message}".strip() for _, reason, message in pod.waits()]
    if pod.phase == "Running" and not waits and not list(pod.crashing()):
        began = max([snapshot.since, pod.ready_changed or pod.created or snapshot.since])
        if snapshot.age(began) <= Stage.START.normal:
            gathered.progress(Stage.START, pod.called, began)
            return
        probes = [str(event) for event in snapshot.events_of(pod) if event.reason == "Unhealthy"]
        said = "; ".join([*filter(None, [status]), *probes[-1:]])
        gathered.unknown(f"{on} runs and is not Ready: {said or 'nothing is said of it'}")
        return
    ended = [f"{name} {said}" for name, said in pod.ended_with()]
    log = snapshot.logs(pod).strip() or snapshot.logs(pod, previous=True).strip()
    printed = f"its log ends: {log.splitlines()[-1]}" if log else ""
    backs_off = any(reason == "CrashLoopBackOff" for _, reason, _ in pod.waits())
    reasons = [
        each for each in (status, *(ended if ended and backs_off else waits or ended)[:1], printed) if each
    ]
    lacking = () if log else snapshot.not_read("logs")
    gathered.unknown(f"{on} fails: {'; '.join(reasons) or 'nothing is said of it'}", lacking)
