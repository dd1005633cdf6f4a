"""Pods of the pool that do not work: each with its own cause, unless a finding about its node explains it.

Pods that wait because all GPUs are in use are no finding: the lab is full.
"""

from dataclasses import dataclass

from lamplighter.domain.diagnosis.document import text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules import network, software, symptoms, workloads
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.node_pool import instance_types
from lamplighter.domain.diagnosis.rules.pod import Pod, is_operator
from lamplighter.domain.diagnosis.rules.quotes import quote, quote_of_pod
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import Reason, Said, Sentences, reason


def judged(snapshot: Snapshot, gathered: Gathered) -> None:
    """Every pod in scope that does not work, and every image that took too long to pull."""
    nodes = {node.name: node for node in snapshot.nodes}
    free = _free(snapshot)
    for pod in snapshot.pods:
        for pull in workloads.slow_pulls(snapshot, pod):
            gathered.found("image-pull-slow", pod.called, pull)
        guessed = not pod.phase and not snapshot.was_read("kubernetes", "pods")
        if pod.healthy and pod.gpus and pod.phase == "Running":
            _driver_gone(snapshot, gathered, pod)
        if pod.healthy or workloads.is_history(snapshot, pod):
            continue
        if pod.node in gathered.explained:
            _of_its_own(snapshot, gathered, pod, nodes.get(pod.node))
            continue
        # Only the scheduler knows anything about a pod that waits for a node.
        placed = bool(pod.node) or pod.phase != "Pending"
        if (placed and _own_cause(snapshot, gathered, pod, nodes.get(pod.node))) or guessed:
            continue
        if not pod.node and pod.phase in {"Pending", ""} and pod.gpus:
            _unplaced(snapshot, gathered, pod, free)
        elif pod.phase == "Pending" and pod.node and not _starts_with_node(snapshot, pod):
            _not_started(snapshot, gathered, pod)


def _driver_gone(snapshot: Snapshot, gathered: Gathered, pod: Pod) -> None:
    """A pod that still runs and prints that the node's driver does not work."""
    symptom = symptoms.symptom([snapshot.logs(pod)], snapshot.now, snapshot.since)
    if (
        symptom
        and symptom.cause in {"driver-mismatch", "driver-broken", "xid"}
        and pod.node not in gathered.explained
    ):
        gathered.found(symptom.cause, pod.called, quote_of_pod(pod, symptom.line))


def _starts_with_node(snapshot: Snapshot, pod: Pod) -> bool:
    """The validator waits for others by design, its own workload among them, and all wait for the driver."""
    return pod.validator or pod.validates or workloads.installing(snapshot, pod)


def _of_its_own(snapshot: Snapshot, gathered: Gathered, pod: Pod, node: Node | None) -> None:
    """Causes that a finding about the node does not explain: an image that cannot be pulled, or needs a newer CUDA."""
    if node is None or not node.ready or not pod.gpus or pod.operand:
        return
    symptom = workloads.symptom_of(snapshot, pod)
    if symptom and symptom.cause == "driver-too-old":
        gathered.found(symptom.cause, pod.called, quote(pod.called, symptom.line))
    elif symptom is None and (failure := workloads.pull_failure(snapshot, pod)):
        gathered.found("image-pull-failed", pod.called, failure)


def _own_cause(snapshot: Snapshot, gathered: Gathered, pod: Pod, node: Node | None) -> bool:
    symptom = workloads.symptom_of(snapshot, pod)
    # A pod without a node holds no GPU that it could lose.
    if symptom and (pod.node or symptom.cause != "gpu-lost"):
        cause = software.resolved(snapshot, node, symptom.cause)
        about = snapshot.name if cause == "wrong-ami" else pod.called
        more = instance_types.architecture_of(snapshot, node) if cause == instance_types.CAUSE else []
        gathered.found(cause, about, quote(pod.called, symptom.line), *more)
        gathered.mentioned.add(pod.called)
        return True
    if failure := workloads.pull_failure(snapshot, pod):
        gathered.found("image-pull-failed", pod.called, failure)
        return True
    if refusal := workloads.refused(snapshot, pod):
        gathered.found("admission-refused", pod.called, refusal)
        return True
    return False


def _unplaced(snapshot: Snapshot, gathered: Gathered, pod: Pod, free: "_Free | None") -> None:
    """A pod that requests a GPU and has no node."""
    message = workloads.scheduler_message(snapshot, pod)
    if taint := workloads.kept_away(snapshot, pod):
        intolerant = reason("finding.evidence.pod-intolerant", pod=pod.called, taint=taint)
        gathered.found("untolerated-taint", pod.called, intolerant, message)
        return
    if gathered.supply_disturbed or workloads.gated(pod):
        return
    if free is None:
        _all_cordoned(snapshot, gathered, pod, message)
        return
    late = snapshot.age(pod.created or snapshot.since) > ProvisioningStage.SCHEDULING.normal
    if hopeless := _hopeless(snapshot, pod, free.largest, late=late):
        gathered.unknown(hopeless)
        return
    # The scheduler sees more than the snapshot has: where it finds no free GPU, there is none.
    if workloads.no_gpu_free(message) or (
        pod.gpus > free.most_left and not workloads.waits_for_volume(message)
    ):
        return
    if not late:
        gathered.progress(ProvisioningStage.SCHEDULING, pod.called, pod.created or snapshot.since)
        return
    why = _or_no_reason(message)
    lacking = () if message else snapshot.not_read("kubernetes.events")
    unplaced = (
        reason("finding.evidence.unplaced-beside-free-gpu", pod=pod.called, why=why)
        if pod.gpus <= free.most_left
        else reason("finding.evidence.unplaced", pod=pod.called, why=why)
    )
    gathered.unknown(unplaced, lacking)


def _hopeless(snapshot: Snapshot, pod: Pod, largest: int, *, late: bool) -> Reason | None:
    """Why no node of the pool can ever have the pod; None where one may."""
    if late and (resource := workloads.offered_nowhere(snapshot, pod)):
        return reason("finding.evidence.offered-nowhere", pod=pod.called, resource=resource)
    if pod.gpus > largest:
        return reason("finding.evidence.asks-too-many", pod=pod.called, gpus=pod.gpus, most=largest)
    return None


def _or_no_reason(message: str) -> Said:
    return message or reason("finding.evidence.no-reason")


def _all_cordoned(snapshot: Snapshot, gathered: Gathered, pod: Pod, message: str) -> None:
    """The pool has nodes, and all of them are cordoned."""
    cordoned = [node.name for node in snapshot.nodes if node.ready and node.cordoned]
    if cordoned and snapshot.wanted_nodes and snapshot.age(pod.created) > ProvisioningStage.SCHEDULING.normal:
        gathered.unknown(
            reason(
                "finding.evidence.all-cordoned",
                pod=pod.called,
                nodes=", ".join(cordoned),
                count=len(cordoned),
                why=_or_no_reason(message),
            )
        )


@dataclass(frozen=True)
class _Free:
    """Of the nodes that accept pods: the most GPU units that a node has, and the most that one has left."""

    largest: int
    most_left: int


def _free(snapshot: Snapshot) -> _Free | None:
    """None where no node accepts pods."""
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
    """A pod with a node, whose containers do not run yet."""
    pulling = workloads.pulling_since(snapshot, pod)
    if pulling is not None:
        if snapshot.age(pulling) <= ProvisioningStage.PULL.normal:
            gathered.progress(ProvisioningStage.PULL, pod.called, pulling)
        else:
            gathered.found("image-pull-slow", pod.called, workloads.still_pulling(snapshot, pod, pulling))
        return
    pulls = [event.last for event in snapshot.events_of(pod) if event.reason == "Pulled" and event.last]
    began = max([snapshot.since, pod.created or snapshot.since, *pulls])
    if snapshot.age(began) <= ProvisioningStage.START.normal:
        gathered.progress(ProvisioningStage.START, pod.called, began)
        return
    if list(pod.crashing()):
        _without_cause(snapshot, gathered, pod)
        if waiters := tuple(other.called for other in snapshot.beside(pod) if _only_waits(other)):
            gathered.unknown(reason("finding.evidence.waits-for", pod=pod.called, pods=waiters))
        return
    if _only_waits(pod) and any(other.operand and list(other.crashing()) for other in snapshot.beside(pod)):
        return
    events = snapshot.events_of(pod)
    waits = [f"{code} {message}" for _, code, message in pod.waits()]
    status = waits or list(filter(None, [text(pod.item, "status", "message")]))
    message = "; ".join([*status, *map(str, events[-1:])])
    lacking = () if events else snapshot.not_read("kubernetes.events")
    gathered.unknown(
        reason("finding.evidence.does-not-start", pod=_with_node(pod), why=_or_no_reason(message)), lacking
    )


def _only_waits(pod: Pod) -> bool:
    """Whether it is NVIDIA's, and its init container still waits for what another pod on the node brings."""
    codes = {code for _, code, _ in pod.waits()}
    return pod.operand and codes == {"PodInitializing"} and not list(pod.crashing())


def _with_node(pod: Pod) -> Said:
    if not pod.node:
        return pod.called
    return reason("finding.evidence.pod-on-node", pod=pod.called, node=pod.node)


def unexplained(snapshot: Snapshot, gathered: Gathered) -> None:
    """At the end: pods that fail, or run and do not become Ready, and that no rule has explained."""
    under_way = {stage.about for stage in gathered.in_progress}
    objects = {name for names in gathered.objects.values() for name in names}
    explained = under_way | gathered.mentioned | objects
    quiet = not gathered.objects and not gathered.unclear
    for pod in snapshot.pods:
        if pod.healthy or pod.phase in {"", "Pending"} or pod.node in gathered.explained | under_way:
            continue
        if workloads.is_history(snapshot, pod):
            continue
        if pod.operand:
            # These wait for each other: an earlier finding is nearer to the root.
            if quiet and not is_operator(pod.name) and pod.called not in explained:
                _without_cause(snapshot, gathered, pod)
        elif not _follows(snapshot, gathered, pod, explained):
            _without_cause(snapshot, gathered, pod)


def _follows(snapshot: Snapshot, gathered: Gathered, pod: Pod, explained: set[str]) -> bool:
    """Whether a finding explains the pod, its job, or a rank of its job: one failed rank ends the others too."""
    peers = network.ranks_of(snapshot, pod)
    names = {rank.called for rank in peers} | {f"{pod.namespace}/{pod.group}"}
    if explained & names or any(rank.node in gathered.explained for rank in peers):
        return True
    return network.waited_for_peers(snapshot, pod, peers)


def _without_cause(snapshot: Snapshot, gathered: Gathered, pod: Pod) -> None:
    status = " ".join(filter(None, (text(pod.item, "status", "reason"), text(pod.item, "status", "message"))))
    waits = [f"{code} {message}".strip() for _, code, message in pod.waits()]
    if pod.phase == "Running" and not waits and not list(pod.crashing()):
        began = max([snapshot.since, pod.ready_changed or pod.created or snapshot.since])
        if snapshot.age(began) <= ProvisioningStage.START.normal:
            gathered.progress(ProvisioningStage.START, pod.called, began)
            return
        probes = [str(event) for event in snapshot.events_of(pod) if event.reason == "Unhealthy"]
        message = "; ".join([*filter(None, [status]), *probes[-1:]])
        gathered.unknown(
            reason("finding.evidence.runs-unready", pod=_with_node(pod), why=_or_no_reason(message))
        )
        return
    log = snapshot.logs(pod).strip() or snapshot.logs(pod, previous=True).strip()
    causes = [part for part in (status, *_container_states(pod, waits)[:1], *_last_line(log)) if part]
    why: Said = Sentences(tuple(causes)) if causes else reason("finding.evidence.no-reason")
    lacking = () if log else snapshot.not_read("logs")
    gathered.unknown(reason("finding.evidence.fails", pod=_with_node(pod), why=why), lacking)


def _container_states(pod: Pod, waits: list[str]) -> list[Said]:
    """How its containers ended where the kubelet backs off, else why they wait."""
    ended: list[Said] = [
        reason("finding.evidence.container-ended", container=name, state=state)
        for name, state in pod.ended_with()
    ]
    backs_off = any(code == "CrashLoopBackOff" for _, code, _ in pod.waits())
    return ended if (ended and backs_off) or not waits else [*waits]


def _last_line(log: str) -> list[Reason]:
    return [reason("finding.evidence.log-ends", line=log.splitlines()[-1])] if log else []
