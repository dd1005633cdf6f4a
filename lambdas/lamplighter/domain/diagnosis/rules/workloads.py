"""Why one pod does not work: its image, its node's taints, the kubelet's refusal, or what it printed.

Judges one pod at a time. The callers leave out pods whose node explains the problem.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from lamplighter.domain.diagnosis.document import at, condition, doc, docs, number, text
from lamplighter.domain.diagnosis.rules import symptoms
from lamplighter.domain.diagnosis.rules.pod import Pod
from lamplighter.domain.diagnosis.rules.quotes import quote, quote_of_pod
from lamplighter.domain.diagnosis.rules.symptoms import Symptom
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import Reason, reason

_PULL_FAILED = {
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "RegistryUnavailable",
    "SignatureValidationFailed",
}
_PULL_EVENT = re.compile(r"Failed to pull image|ImagePullBackOff|ErrImagePull|Back-off pulling image")
_PULLED_IN = re.compile(r"Successfully pulled image .{0,300}? in ((?:\d+(?:\.\d+)?(?:h|ms|m|us|µs|s))+)")
_UNIT = re.compile(r"([\d.]+)(h|ms|m|us|µs|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_GPU_TAINT = re.compile(r"untolerated taint (\{nvidia\.com/[^}]{0,200}\})")
_REFUSED = {"UnexpectedAdmissionError", "OutOfnvidia.com/gpu"}
SEEN_RESTARTS = 3
"""Containers that failed so often do not recover by themselves, even on a young node."""
_INSTALLERS = "nvidia-driver-daemonset", "nvidia-container-toolkit"
# What NVIDIA's pods say until driver and runtime are there: expected for some minutes (gpu-operator, issue 413).
_UNTIL_INSTALLED = {symptoms.NVML_MISSING, "runtime-missing", "driver-broken"}
_SANDBOX_STANDS = {"Pulling", "Pulled", "Created", "Started"}
# k8s-device-plugin: "Registered device plugin for 'nvidia.com/gpu' with Kubelet"
_REGISTERED = "Registered device plugin for"


def is_history(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether the pod's failure is over: it ended before, or another pod of its owner does the work."""
    if pod.failed:
        ended = pod.ended or pod.created
        if ended is not None and ended < snapshot.since:
            return True
    if not pod.owner:
        return False
    if _job_done(snapshot, pod):
        return True
    return pod.failed and any(
        other is not pod
        and other.owner == pod.owner
        and other.namespace == pod.namespace
        and (other.node == pod.node or not pod.owner.startswith("DaemonSet/"))
        and other.healthy
        and _took_over(other, pod)
        for other in snapshot.pods
    )


def _took_over(other: Pod, pod: Pod) -> bool:
    """Whether a pod of the same owner replaces the failed one, rather than being another rank beside it."""
    if other.index != pod.index:
        return False
    if other.created is None or pod.created is None:
        return True
    if pod.ended is not None:
        return other.created >= pod.ended
    # A job creates all its ranks in one second. Other controllers replace a refused pod within that second.
    beside = pod.owner.startswith("Job/") and not pod.index
    return other.created > pod.created if beside else other.created >= pod.created


def _job_done(snapshot: Snapshot, pod: Pod) -> bool:
    kind, _, name = pod.owner.partition("/")
    job = snapshot.jobs.get((pod.namespace, name)) or snapshot.jobs.get(("", name))
    if kind != "Job" or job is None:
        return False
    wanted = number(job, "spec", "completions") or 1
    complete = text(condition(job, "Complete"), "status") == "True"
    return complete or (number(job, "status", "succeeded") or 0) >= wanted


def symptom_of(snapshot: Snapshot, pod: Pod) -> Symptom | None:
    """The cause in the pod's own texts: from the kubelet, the runtime, or its containers."""
    texts = [
        *pod.kubelet_messages,
        *_current_messages(snapshot, pod),
        since_registered(pod, snapshot.logs(pod)),
    ]
    if not pod.healthy:
        texts.append(snapshot.logs(pod, previous=True))
    symptom = symptoms.symptom(texts, snapshot.now, snapshot.since)
    return None if symptom and symptom.cause in _UNTIL_INSTALLED and installing(snapshot, pod) else symptom


def installing(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether it is NVIDIA's, and the operator still installs driver or toolkit on its node, within the normal time."""
    return pod.operand and any(
        any(name in other.name for name in _INSTALLERS)
        and not (other.healthy or other.failed or list(other.crashing()))
        and other.restarts < SEEN_RESTARTS
        and snapshot.age(max(snapshot.since, other.created or snapshot.since))
        <= ProvisioningStage.GPUS.normal
        for other in snapshot.beside(pod)
    )


def _current_messages(snapshot: Snapshot, pod: Pod) -> Iterator[str]:
    """The messages of its events. A failed sandbox is history once a sandbox was made."""
    events = snapshot.events_of(pod)
    made = [place for place, event in enumerate(events) if event.reason in _SANDBOX_STANDS]
    runs = any(at(status, "state", "running") is not None for status in pod.statuses)
    for place, event in enumerate(events):
        over = event.reason == "FailedCreatePodSandBox" and (runs or (made and made[-1] > place))
        if not over:
            yield event.message


def since_registered(pod: Pod, log: str) -> str:
    """The log of a device plugin since it last registered: what failed before that works now."""
    return log[log.rfind(_REGISTERED) + len(_REGISTERED) :] if pod.plugin and _REGISTERED in log else log


def pull_failure(snapshot: Snapshot, pod: Pod) -> Reason | None:
    """Why an image of the pod cannot be pulled; None where it can be, or was pulled in the end."""
    for container, code, message in pod.waits():
        if code in _PULL_FAILED:
            return quote(f"{pod.called} {container}", f"{code} {message}")
    if pod.statuses:
        return None
    events = [
        event
        for event in snapshot.events_of(pod)
        if event.reason in {"Failed", "BackOff", "Pulled", "Started"}
    ]
    if events and _PULL_EVENT.search(events[-1].message):
        return quote(pod.called, str(events[-1]))
    return None


def slow_pulls(snapshot: Snapshot, pod: Pod) -> Iterator[Reason]:
    """Pulls that took longer than normal."""
    for event in snapshot.events_of(pod):
        match = _PULLED_IN.search(event.message) if event.reason == "Pulled" else None
        if match and _duration(match[1]) >= ProvisioningStage.PULL.normal.total_seconds():
            yield quote(pod.called, event.message)


def pulling_since(snapshot: Snapshot, pod: Pod) -> datetime | None:
    """Since when the kubelet has been pulling an image of the pod; None where it pulls none."""
    events = [
        event
        for event in snapshot.events_of(pod)
        if event.reason in {"Pulling", "Pulled", "Failed", "Started"}
    ]
    return events[-1].last if events and events[-1].reason == "Pulling" else None


def still_pulling(snapshot: Snapshot, pod: Pod, since: datetime) -> Reason:
    """How long the kubelet has been pulling an image of the pod, as evidence."""
    seconds = int(snapshot.age(since).total_seconds())
    return reason("finding.evidence.pulling", pod=pod.called, seconds=seconds)


def _duration(written: str) -> float:
    """Seconds of a Go duration such as 2m18.049s."""
    return sum(float(figure) * _SECONDS[unit] for figure, unit in _UNIT.findall(written))


def refused(snapshot: Snapshot, pod: Pod) -> Reason | None:
    """The kubelet's words where it refused the pod; None where it did not."""
    code, message = text(pod.item, "status", "reason"), text(pod.item, "status", "message")
    if code in _REFUSED or (pod.failed and "UnexpectedAdmissionError" in message):
        return quote_of_pod(pod, f"{code} {message}")
    if pod.phase:
        return None
    # Only the events of this pod are known.
    events = [event for event in snapshot.events_of(pod) if event.reason in _REFUSED]
    return quote(pod.called, str(events[-1])) if events else None


def kept_away(snapshot: Snapshot, pod: Pod) -> str | None:
    """The taint that keeps the pod off every node of the pool, as the scheduler writes it; None where none does."""
    taints = snapshot.node_taints or [snapshot.taints]
    missing = [pod.untolerated(taints_of_node) for taints_of_node in taints]
    # Where no taint was read, the scheduler's own message counts for the taint of GPU nodes.
    if all(missing):
        return f"{{{text(missing[0], 'key')}: {text(missing[0], 'value')}}}"
    if any(taints):
        return None
    named = _GPU_TAINT.search(scheduler_message(snapshot, pod))
    return named[1] if named else None


def scheduler_message(snapshot: Snapshot, pod: Pod) -> str:
    """The scheduler's last message about why it finds no node."""
    messages = [event.message for event in snapshot.events_of(pod) if event.reason == "FailedScheduling"]
    return pod.scheduler_message or (messages[-1] if messages else "")


def offered_nowhere(snapshot: Snapshot, pod: Pod) -> str:
    """The first extended resource that it requests and no node has, such as a MIG slice; "" for none.

    A node that is being divided anew has no slice for some minutes. A pod whose node selector fits no node of the pool
    waits for another one, and so may a pod that requests what another pool has.
    """
    absent = next((name for name in pod.extended_resources if name not in snapshot.offered), "")
    chosen = doc(pod.item, "spec", "nodeSelector").items()
    if (
        not absent
        or any(node.dividing for node in snapshot.nodes)
        or not any(chosen <= node.labels.items() for node in snapshot.nodes)
    ):
        return ""
    return absent


_AVAILABLE = re.compile(r"\b0/(\d{1,6}) nodes are available:(.*?)(?:preemption:|$)", re.DOTALL)
_REASON = re.compile(r"(?:^|, )\s*(\d{1,6}) ([^,]+)")
_VOLUME = re.compile(r"persistentvolumeclaim|\bvolume\b", re.IGNORECASE)
_NOT_MEANT = re.compile(
    r"node\(s\) (?:didn't match(?! pod (?:anti-affinity|affinity|topology))"
    r"|had untolerated taint \{(?!node\.kubernetes\.io/))"
)


def no_gpu_free(message: str) -> bool:
    """Whether the scheduler reports that no node which the pod may use has a free GPU.

    kube-scheduler counts a node once for each resource that it lacks, and once for anything else. Nodes without
    any GPU count as well, so the number must be that of all nodes which the pod may use.
    """
    available = _AVAILABLE.search(message)
    if available is None:
        return "Insufficient nvidia.com/" in message
    counted = [(obstacle, int(count)) for count, obstacle in _REASON.findall(available[2])]
    without_gpu = max(
        (count for obstacle, count in counted if obstacle.startswith("Insufficient nvidia.com/")), default=0
    )
    meant = int(available[1]) - sum(count for obstacle, count in counted if _NOT_MEANT.match(obstacle))
    return 0 < without_gpu >= meant


def waits_for_volume(message: str) -> bool:
    """Whether the scheduler waits for a volume, so that a free GPU would not help."""
    return bool(_VOLUME.search(message)) and "Insufficient nvidia.com/" not in message


def gated(pod: Pod) -> bool:
    """Whether somebody holds the pod back on purpose, so that the scheduler ignores it."""
    return bool(docs(pod.item, "spec", "schedulingGates")) or at(pod.item, "spec", "suspend") is True
