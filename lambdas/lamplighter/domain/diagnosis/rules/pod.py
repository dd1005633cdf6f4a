"""One pod, read from its API document: its purpose, the state of its containers, and its tolerations."""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property

from lamplighter.domain.diagnosis.document import (
    NOTHING,
    Doc,
    at,
    condition,
    doc,
    docs,
    instant,
    number,
    text,
)
from lamplighter.reasons.reason import Said, Sentences, reason

# The parts of NVIDIA's software, by the names that the operator and the charts give their pods.
_OPERAND = re.compile(
    r"nvidia-device-plugin|nvidia-operator-validator|gpu-feature-discovery|dcgm-exporter|nvidia-dcgm|nvidia-driver-daemonset"
    r"|nvidia-container-toolkit|nvidia-mig-manager|nvidia-mps|node-feature-discovery|nvidia-cuda-validator"
    r"|nvidia-node-status-exporter|^gpu-operator"
)
_PLUGIN = re.compile(
    r"nvidia-device-plugin(?!-validator|-mps|-gpu-feature|-node-feature)|^nvidia-gpu-device-plugin"
)
_OPERATOR = re.compile(r"^gpu-operator-(?!node-feature)|node-feature-discovery-master")
_VALIDATOR = re.compile(r"nvidia-operator-validator")
# The pods that the validator starts. The one for CUDA sees all GPUs and requests none.
_WORKLOAD = re.compile(r"nvidia-(?:cuda|device-plugin)-validator")

# Karpenter's chart names its Deployment after itself, whatever the release is called.
_KARPENTER = re.compile(r"^karpenter(?:-|$)")

_GROUPS = ("jobset.sigs.k8s.io/jobset-name", "leaderworkerset.sigs.k8s.io/name")


def is_operand(name: str) -> bool:
    """Whether a pod or DaemonSet of this name is part of NVIDIA's software."""
    return bool(_OPERAND.search(name))


def is_plugin(name: str) -> bool:
    """Whether a pod or DaemonSet of this name is the device plugin."""
    return bool(_PLUGIN.search(name))


def is_validator(name: str) -> bool:
    """Whether a pod or DaemonSet of this name is the operator's validator."""
    return bool(_VALIDATOR.search(name))


def is_operator(name: str) -> bool:
    """Whether a pod of this name is the operator itself, or the master of feature discovery."""
    return bool(_OPERATOR.search(name))


def is_karpenter(name: str) -> bool:
    """Whether a pod or Deployment of this name is Karpenter's controller."""
    return bool(_KARPENTER.search(name))


def guessed(namespace: str, name: str, nodes: list[str]) -> Doc:
    """A pod of which only the name is known. It is on the only node; a workload requests a GPU."""
    software = is_operand(name) or name.startswith("node-debugger-")
    containers = [] if software else [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]
    spec = {"nodeName": nodes[0] if len(nodes) == 1 else "", "containers": containers}
    return {"metadata": {"namespace": namespace, "name": name}, "spec": spec}


class Pod:
    """A pod as the API server printed it."""

    def __init__(self, item: Doc) -> None:
        self.item = item
        self.name = text(item, "metadata", "name")
        self.namespace = text(item, "metadata", "namespace") or "default"
        self.node = text(item, "spec", "nodeName")
        self.phase = text(item, "status", "phase")

    @cached_property
    def created(self) -> datetime | None:
        return instant(self.item, "metadata", "creationTimestamp")

    @cached_property
    def called(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def operand(self) -> bool:
        return is_operand(self.name) or is_operand(text(self.item, "metadata", "labels", "app"))

    @cached_property
    def plugin(self) -> bool:
        return is_plugin(self.name) or is_plugin(text(self.item, "metadata", "labels", "app"))

    @cached_property
    def validator(self) -> bool:
        return is_validator(self.name) or is_validator(text(self.item, "metadata", "labels", "app"))

    @cached_property
    def validates(self) -> bool:
        """Whether the operator's validator started it to try a GPU."""
        return bool(_WORKLOAD.search(self.name)) or (self.operand and self.gpus > 0)

    @cached_property
    def gpus(self) -> int:
        """GPU units that it requests, under any resource name."""
        return sum(
            number(asked, name) or 0
            for asked in self._requests
            for name in asked
            if name.startswith(("nvidia.com/gpu", "nvidia.com/mig-"))
        )

    @property
    def extended_resources(self) -> list[str]:
        """What it requests beside processors, memory and disk, such as nvidia.com/mig-1g.5gb or hugepages-2Mi.

        The scheduler ignores a request of 0, which charts write for none.
        """
        return [
            name
            for asked in self._requests
            for name, amount in asked.items()
            if ("/" in name or name.startswith("hugepages-")) and str(amount) != "0"
        ]

    @property
    def _requests(self) -> list[Doc]:
        """Of each container, the limits, or the requests where it has none."""
        containers = docs(self.item, "spec", "containers") + docs(self.item, "spec", "initContainers")
        return [doc(each, "resources", "limits") or doc(each, "resources", "requests") for each in containers]

    @cached_property
    def owner(self) -> str:
        """Its controller, as kind and name; "" for a pod without a controller."""
        for owner in docs(self.item, "metadata", "ownerReferences"):
            return f"{text(owner, 'kind')}/{text(owner, 'name')}"
        return ""

    @property
    def index(self) -> str:
        """Its rank in an indexed job; "" where it has none."""
        return text(self.item, "metadata", "labels", "batch.kubernetes.io/job-completion-index")

    @cached_property
    def group(self) -> str:
        """The group of its ranks: the JobSet or LeaderWorkerSet of several jobs, else its controller."""
        for label in _GROUPS:
            if name := text(self.item, "metadata", "labels", label):
                return f"{label.partition('.')[0]}/{name}"
        return self.owner

    @property
    def container_names(self) -> list[str]:
        return [
            text(container, "name")
            for part in ("initContainers", "containers")
            for container in docs(self.item, "spec", part)
        ]

    @cached_property
    def statuses(self) -> list[Doc]:
        """Init containers first, then the others."""
        return docs(self.item, "status", "initContainerStatuses") + docs(
            self.item, "status", "containerStatuses"
        )

    @property
    def succeeded(self) -> bool:
        return self.phase == "Succeeded"

    @property
    def failed(self) -> bool:
        return self.phase == "Failed"

    @cached_property
    def leaving(self) -> bool:
        return "deletionTimestamp" in doc(self.item, "metadata") and (
            instant(self.item, "metadata", "deletionTimestamp") is not None
        )

    @cached_property
    def healthy(self) -> bool:
        """Whether it works, or has succeeded."""
        if self.succeeded:
            return True
        if self.phase != "Running":
            return False
        ready = condition(self.item, "Ready")
        if ready:
            return text(ready, "status") == "True"
        main = docs(self.item, "status", "containerStatuses")
        return all(status.get("ready") is not False for status in main)

    @property
    def ready_changed(self) -> datetime | None:
        """When it last became Ready or stopped being Ready."""
        return instant(condition(self.item, "Ready"), "lastTransitionTime")

    @cached_property
    def ended(self) -> datetime | None:
        """When its last container ended; None where no status says so."""
        ends = [instant(status, "state", "terminated", "finishedAt") for status in self.statuses]
        return max((end for end in ends if end is not None), default=None)

    def waits(self) -> Iterator[tuple[str, str, str]]:
        """Containers that wait: name, reason and message."""
        for status in self.statuses:
            waiting = doc(status, "state", "waiting")
            if waiting:
                yield text(status, "name"), text(waiting, "reason"), text(waiting, "message")

    def crashing(self) -> Iterator[tuple[str, Said]]:
        """Containers that fail again and again: name, and the kubelet's message or the exit code."""
        for status in self.statuses:
            waiting = text(status, "state", "waiting", "reason")
            ended = doc(status, "state", "terminated")
            if waiting == "CrashLoopBackOff":
                yield text(status, "name"), text(status, "state", "waiting", "message") or waiting
            elif ended and (number(ended, "exitCode") or 0) != 0:
                yield text(status, "name"), _exit_code(ended)

    def first_unended(self) -> list[tuple[str, Said]]:
        """The init container that has not ended, else a container that waits: name, and what it does.

        Init containers run in order: those after it, and all others, wait for its end.
        """
        for status in self.statuses:
            name, waiting = text(status, "name"), doc(status, "state", "waiting")
            if waiting:
                return [(name, f"{text(waiting, 'reason')} {text(waiting, 'message')}")]
            init = status in docs(self.item, "status", "initContainerStatuses")
            if init and at(status, "state", "running") is not None:
                return [(name, reason("finding.evidence.runs-on"))]
        return []

    def ended_with(self) -> Iterator[tuple[str, Said]]:
        """Containers that ended, now or before they wait: name, and reason, exit code and message."""
        for status in self.statuses:
            for state in ("state", "lastState"):
                ended = doc(status, state, "terminated")
                if ended:
                    parts = (text(ended, "reason"), _exit_code(ended), text(ended, "message"))
                    yield text(status, "name"), Sentences(tuple(part for part in parts if part))
                    break

    @property
    def restarts(self) -> int:
        return max((number(status, "restartCount") or 0 for status in self.statuses), default=0)

    @cached_property
    def kubelet_messages(self) -> list[str]:
        """The kubelet's messages about the pod and its containers."""
        messages = [text(self.item, "status", "message"), text(self.item, "status", "reason")]
        for status in self.statuses:
            for state in ("state", "lastState"):
                for kind in ("waiting", "terminated"):
                    messages += [text(status, state, kind, "message"), text(status, state, kind, "reason")]
        return [message for message in messages if message]

    @property
    def scheduler_message(self) -> str:
        """Why the scheduler finds no node, in its words."""
        placed = condition(self.item, "PodScheduled")
        return text(placed, "message") if text(placed, "status") == "False" else ""

    def untolerated(self, taints: list[Doc]) -> Doc:
        """The first of the taints that the pod does not tolerate; empty when it tolerates all."""
        return untolerated(docs(self.item, "spec", "tolerations"), taints)


def _exit_code(ended: Doc) -> Said:
    code = number(ended, "exitCode")
    return reason("finding.evidence.exit-code", code="?" if code is None else str(code))


def untolerated(tolerations: list[Doc], taints: list[Doc]) -> Doc:
    """The first taint that no toleration covers, as kube-scheduler compares them."""
    for taint in taints:
        if not any(_tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return NOTHING


def _tolerates(toleration: Doc, taint: Doc) -> bool:
    effect, key = text(toleration, "effect"), text(toleration, "key")
    if effect and effect != text(taint, "effect"):
        return False
    if key and key != text(taint, "key"):
        return False
    if text(toleration, "operator") == "Exists":
        return True
    return bool(key) and text(toleration, "value") == text(taint, "value")


def written(taint: Doc) -> str:
    """A taint as kubectl writes it."""
    value = text(taint, "value")
    return f"{text(taint, 'key')}{'=' + value if value else ''}:{text(taint, 'effect')}"
