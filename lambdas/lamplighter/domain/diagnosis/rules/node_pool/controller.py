"""Whether Karpenter itself runs: without it no node starts, no node drains, and nothing but EC2 ends one.

EKS runs the controller of Auto Mode outside the cluster, so there is nothing to look at.
"""

from datetime import datetime

from lamplighter.domain.capacity.node_pool.access import DEFINITIONS
from lamplighter.domain.diagnosis.document import Doc, at, condition, docs, instant, number, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.node_pool import KARPENTER_GROUP
from lamplighter.domain.diagnosis.rules import workloads
from lamplighter.domain.diagnosis.rules.pod import Pod, is_karpenter
from lamplighter.domain.diagnosis.rules.quotes import quote
from lamplighter.domain.diagnosis.rules.software import restarted
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import Said, reason

CAUSE = "karpenter-not-ready"
KIND = "karpenter"
IMAGE = "karpenter/controller"
_SEEN_RESTARTS = 3


def is_its_own(snapshot: Snapshot) -> bool:
    """Whether the pool is Karpenter's."""
    return snapshot.kind == KIND or snapshot.node_pool.group == KARPENTER_GROUP


def running(snapshot: Snapshot, gathered: Gathered) -> None:
    """Notes that Karpenter does not run, or that the cluster does not know its kinds of object."""
    if not is_its_own(snapshot):
        return
    if absent := _absent_kinds(snapshot):
        gathered.found(CAUSE, "Karpenter", reason("finding.evidence.no-crds", names=", ".join(absent)))
    if not snapshot.was_read("kubernetes", "deployments"):
        return
    ours = [item for item in snapshot.listed("kubernetes", "deployments") if _is_karpenter(item)]
    if not ours:
        gathered.found(CAUSE, "Karpenter", reason("finding.evidence.no-karpenter"))
    for deployment in ours:
        _judge(snapshot, gathered, deployment)


def _judge(snapshot: Snapshot, gathered: Gathered, deployment: Doc) -> None:
    name = f"{text(deployment, 'metadata', 'namespace')}/{text(deployment, 'metadata', 'name')}"
    wanted = number(deployment, "spec", "replicas")
    if wanted == 0:
        gathered.found(CAUSE, name, reason("finding.evidence.scaled-to-none", deployment=name))
        return
    if any(number(deployment, "status", key) for key in ("availableReplicas", "readyReplicas")):
        return
    began = _down_since(deployment)
    crashing = any(pod.restarts >= _SEEN_RESTARTS for pod in snapshot.karpenter_pods)
    if snapshot.age(began) <= ProvisioningStage.KARPENTER.normal and not crashing:
        gathered.progress(ProvisioningStage.KARPENTER, name, began or snapshot.since)
        return
    down = reason("finding.evidence.deployment-down", deployment=name, wanted=1 if wanted is None else wanted)
    gathered.found(CAUSE, name, down, *(_why(snapshot, pod) for pod in snapshot.karpenter_pods))


def _down_since(deployment: Doc) -> datetime | None:
    state = condition(deployment, "Available")
    return instant(state, "lastTransitionTime") or instant(deployment, "metadata", "creationTimestamp")


def _why(snapshot: Snapshot, pod: Pod) -> Said:
    """Why a pod of Karpenter does not run: starved, crashing, or without its image."""
    if pod.healthy:
        return ""
    if not pod.node and (message := workloads.scheduler_message(snapshot, pod)):
        return reason("finding.evidence.unplaced", pod=pod.called, why=message)
    if failure := workloads.pull_failure(snapshot, pod):
        return failure
    for container, state in pod.crashing():
        log = snapshot.logs(pod, previous=True).strip() or snapshot.logs(pod).strip()
        last = log.rpartition("\n")[2]
        crash = restarted(pod, container, state)
        return quote(pod.called, last) if last else crash
    return reason("finding.evidence.phase", pod=pod.called, phase=pod.phase)


def _absent_kinds(snapshot: Snapshot) -> list[str]:
    if not snapshot.was_read("kubernetes", "customresourcedefinitions"):
        return []
    listed = snapshot.listed("kubernetes", "customresourcedefinitions")
    there = {text(item, "metadata", "name") for item in listed}
    return [name for name in DEFINITIONS if name not in there]


def _is_karpenter(deployment: Doc) -> bool:
    """By its name, or by its image: the name of a release is free."""
    containers = docs(at(deployment, "spec", "template"), "spec", "containers")
    by_image = any(IMAGE in text(container, "image") for container in containers)
    return by_image or is_karpenter(text(deployment, "metadata", "name"))
