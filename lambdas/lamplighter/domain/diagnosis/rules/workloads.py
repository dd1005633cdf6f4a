"""What a pod is stuck at: its image, its node's taints, the kubelet's refusal, or the text that it printed.

Judges one pod at a time; what the node's own trouble explains is left out by whoever asks.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from lamplighter.domain.diagnosis.document import at, condition, docs, number, text
from lamplighter.domain.diagnosis.rules import symptoms
from lamplighter.domain.diagnosis.rules.pod import Pod
from lamplighter.domain.diagnosis.rules.symptoms import Symptom
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import Stage

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
_SANDBOX_STANDS = {"Pulling", "Pulled", "Created", "Started"}
# k8s-device-plugin: "Registered device plugin for 'nvidia.com/gpu' with Kubelet"
_REGISTERED = "Registered device plugin for"


def is_history(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether what went wrong with the pod is over: it ended before, or another one of its owner does the work."""
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
    """Whether a pod of the same owner was made for the one that failed, rather than beside it as another rank."""
    if other.index != pod.index:
        return False
    if other.created is None or pod.created is None:
        return True
    if pod.ended is not None:
        return other.created >= pod.ended
    # A job makes all its ranks in one second; other controllers replace a refused pod within it.
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
    """The cause that the pod's own texts name: of the kubelet, the runtime, and of its containers."""
    texts = [*pod.said, *_still_said(snapshot, pod), since_registered(pod, snapshot.logs(pod))]
    if not pod.healthy:
        texts.append(snapshot.logs(pod, previous=True))
    return symptoms.symptom(texts, snapshot.now, snapshot.since)


def _still_said(snapshot: Snapshot, pod: Pod) -> Iterator[str]:
    """The messages of its events; a sandbox that could not be made first and was made then is history."""
    events = snapshot.events_of(pod)
    made = [place for place, event in enumerate(events) if event.reason in _SANDBOX_STANDS]
    runs = any(at(status, "state", "running") is not None for status in pod.statuses)
    for place, event in enumerate(events):
        over = event.reason == "FailedCreatePodSandBox" and (runs or (made and made[-1] > place))
        if not over:
            yield event.message


def since_registered(pod: Pod, log: str) -> str:
    """The log of a device plugin from where it last registered on: what it could not do before, it could then."""
    return log[log.rfind(_REGISTERED) + len(_REGISTERED) :] if pod.plugin and _REGISTERED in log else log


def pull_failure(snapshot: Snapshot, pod: Pod) -> str | None:
    """Why an image of the pod cannot be pulled; None where it can, or could in the end."""
    for name, reason, message in pod.waits():
        if reason in _PULL_FAILED:
            return f"{pod.called} {name}: {reason} {message}"
    if pod.statuses:
        return None
    said = [
        each for each in snapshot.events_of(pod) if each.reason in {"Failed", "BackOff", "Pulled", "Started"}
    ]
    if said and _PULL_EVENT.search(said[-1].message):
        return f"{pod.called}: {said[-1]}"
    return None


def slow_pulls(snapshot: Snapshot, pod: Pod) -> Iterator[str]:
    """Pulls that took longer than normal."""
    for event in snapshot.events_of(pod):
        match = _PULLED_IN.search(event.message) if event.reason == "Pulled" else None
        if match and _duration(match[1]) >= Stage.PULL.normal.total_seconds():
            yield f"{pod.called}: {event.message}"


def pulling_since(snapshot: Snapshot, pod: Pod) -> datetime | None:
    """Since when an image of the pod is being pulled; None where none is."""
    said = [
        each for each in snapshot.events_of(pod) if each.reason in {"Pulling", "Pulled", "Failed", "Started"}
    ]
    return said[-1].last if said and said[-1].reason == "Pulling" else None


def _duration(written: str) -> float:
    """Seconds of a Go duration such as 2m18.049s."""
    return sum(float(figure) * _SECONDS[unit] for figure, unit in _UNIT.findall(written))


def refused(snapshot: Snapshot, pod: Pod) -> str | None:
    """The kubelet's words where it refused the pod; None where it did not."""
    reason, message = text(pod.item, "status", "reason"), text(pod.item, "status", "message")
    if reason in _REFUSED or (pod.failed and "UnexpectedAdmissionError" in message):
        return f"{pod.called} on {pod.node}: {reason} {message}"
    if pod.phase:
        return None
    # Of the pod only its events are known.
    said = [event for event in snapshot.events_of(pod) if event.reason in _REFUSED]
    return f"{pod.called}: {said[-1]}" if said else None


def kept_away(snapshot: Snapshot, pod: Pod) -> str | None:
    """The taint that keeps the pod off every node of the pool; None where it may go to one."""
    taints = snapshot.node_taints or [snapshot.taints]
    missing = [pod.untolerated(each) for each in taints]
    # As the scheduler writes it; its own word counts too, for the taint that means a GPU.
    if all(missing):
        return f"{{{text(missing[0], 'key')}: {text(missing[0], 'value')}}}"
    if any(taints):
        return None
    said = _GPU_TAINT.search(scheduling_said(snapshot, pod))
    return said[1] if said else None


def scheduling_said(snapshot: Snapshot, pod: Pod) -> str:
    """Why the scheduler finds no node, as it said last."""
    events = [each.message for each in snapshot.events_of(pod) if each.reason == "FailedScheduling"]
    return pod.scheduling_said or (events[-1] if events else "")


_AVAILABLE = re.compile(r"\b0/(\d{1,6}) nodes are available:(.*?)(?:preemption:|$)", re.DOTALL)
_REASON = re.compile(r"(?:^|, )\s*(\d{1,6}) ([^,]+)")
_VOLUME = re.compile(r"persistentvolumeclaim|\bvolume\b", re.IGNORECASE)
_NOT_MEANT = re.compile(
    r"node\(s\) (?:didn't match(?! pod (?:anti-affinity|affinity|topology))"
    r"|had untolerated taint \{(?!node\.kubernetes\.io/))"
)


def no_gpu_free(said: str) -> bool:
    """Whether the scheduler says that no node which the pod is meant for has a GPU left.

    kube-scheduler counts a node once for each resource that it lacks, and once for anything else. Nodes without
    any GPU lack one too, so the number alone says nothing: it must be that of all nodes that are meant.
    """
    available = _AVAILABLE.search(said)
    if available is None:
        return "Insufficient nvidia.com/" in said
    counted = [(reason, int(count)) for count, reason in _REASON.findall(available[2])]
    gpus = max(
        (count for reason, count in counted if reason.startswith("Insufficient nvidia.com/")), default=0
    )
    meant = int(available[1]) - sum(count for reason, count in counted if _NOT_MEANT.match(reason))
    return 0 < gpus >= meant


def waits_for_volume(said: str) -> bool:
    """Whether the scheduler waits for a volume, which no free GPU would help."""
    return bool(_VOLUME.search(said)) and "Insufficient nvidia.com/" not in said


def gated(pod: Pod) -> bool:
    """Held back on purpose, before the scheduler may look at it."""
    return bool(docs(pod.item, "spec", "schedulingGates")) or at(pod.item, "spec", "suspend") is True
