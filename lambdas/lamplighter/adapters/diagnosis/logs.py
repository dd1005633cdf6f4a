"""The logs that can show a cause: of NVIDIA's pods, of pods that request GPUs, and of Karpenter; bounded.

Unhealthy pods come first, so that healthy pods of a large pool never displace them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.domain.diagnosis.document import Doc, doc, number, text
from lamplighter.domain.diagnosis.rules.pod import Pod, is_karpenter, is_operator
from lamplighter.reasons.reason import reason

MOST_LOGS = 60
TAIL_LINES = 400
LOG_BYTES = 64 * 1024

Ask = Callable[[str, dict[str, str]], str | None]


@dataclass(frozen=True)
class _Log:
    pod: Pod
    container: str
    previous: bool

    @property
    def key(self) -> str:
        return f"{self.pod.called}/{self.container}"


def read_logs(ask: Ask, reading: Reading, pods: Iterable[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """The snapshot's `logs` and `logs_previous`, by namespace/pod/container."""
    logs: dict[str, dict[str, str]] = {"logs": {}, "logs_previous": {}}
    wanted = sorted((log for item in pods for log in _logs_of(Pod(item))), key=_rank)
    for made, log in enumerate(wanted):
        if made >= MOST_LOGS or reading.over:
            left_out = len(wanted) - made
            reading.leave(
                "logs (the rest)",
                reason("finding.unread.logs-left-out", left_out=left_out, logs=len(wanted)),
            )
            break
        part = "logs_previous" if log.previous else "logs"
        printed = reading.read(part, partial(_printed, ask, log))
        if printed is None:
            # A caller who may not read one log may read none. Logs that were read before stay.
            break
        if printed:
            logs[part][log.key] = printed
    return logs


def _printed(ask: Ask, log: _Log) -> str:
    query = {"container": log.container, "tailLines": str(TAIL_LINES), "limitBytes": str(LOG_BYTES)}
    if log.previous:
        query["previous"] = "true"
    # Without a text the container has not started, or the pod is deleted. That is no failure.
    return ask(f"/api/v1/namespaces/{log.pod.namespace}/pods/{log.pod.name}/log", query) or ""


def _logs_of(pod: Pod) -> Iterator[_Log]:
    """The containers of a pod whose output may show a cause."""
    karpenter = is_karpenter(pod.name)
    software = pod.operand or is_operator(pod.name) or karpenter
    # Karpenter tells only its log that the launch bar refuses a node.
    speaks = pod.gpus or pod.plugin or karpenter
    if pod.succeeded or not (pod.gpus or software) or (pod.healthy and not speaks):
        return
    for status in pod.statuses:
        name = text(status, "name")
        if name and _ran(status):
            yield _Log(pod, name, previous=False)
            if not pod.healthy and (number(status, "restartCount") or 0) > 0:
                yield _Log(pod, name, previous=True)


def _ran(status: Doc) -> bool:
    state, last = doc(status, "state"), doc(status, "lastState")
    return "running" in state or "terminated" in state or "terminated" in last


def _rank(log: _Log) -> tuple[int, bool, str]:
    pod = log.pod
    order = 0 if not pod.healthy or is_karpenter(pod.name) else 1 if pod.plugin else 2
    return order, log.previous, log.key
