"""What is wrong with a GPU itself: fatal XIDs, a GPU that a running pod lost, a count that is short.

A fatal XID explains the lost GPU and the short count that it causes, so it is looked for first.
"""

from collections.abc import Iterator

from lamplighter.domain.diagnosis.document import condition, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules import symptoms, workloads
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.snapshot import Snapshot

HARDWARE = "AcceleratedHardwareReady"
COUNT_MISMATCH = "NvidiaDeviceCountMismatch"
# Reasons of the node monitoring agent that mean a dead GPU without naming an XID.
_DEAD = {"NvidiaDoubleBitError", "DCGMDiagnosticFailure"}


def fatal_errors(snapshot: Snapshot, gathered: Gathered) -> None:
    """Fatal XIDs: by the node's condition, or by a log where GPUs are missing."""
    for node in snapshot.nodes:
        said = [*_condition_says(node), *_logs_say(snapshot, node)]
        if said:
            gathered.found("xid", node.name, *said)
            gathered.explained.add(node.name)


def _condition_says(node: Node) -> Iterator[str]:
    state = condition(node.item, HARDWARE)
    reason = text(state, "reason")
    if text(state, "status") != "False":
        return
    xid = symptoms.condition_xid(reason)
    if reason in _DEAD or xid in symptoms.FATAL_XIDS:
        yield f"{node.name} {HARDWARE}=False, {reason}: {text(state, 'message')}"


def _logs_say(snapshot: Snapshot, node: Node) -> Iterator[str]:
    short = node.short_of(snapshot.gpus_per_node)
    for pod in snapshot.pods_on(node):
        for xid, line in symptoms.xids(snapshot.logs(pod), snapshot.now, snapshot.since):
            # The device plugin takes a GPU away for more XIDs than those that are fatal.
            if xid in symptoms.FATAL_XIDS or (short and "XidCriticalError" in line):
                yield f"{pod.called}: {line}"
                yield short or ""
    for event in snapshot.node_events(node):
        if symptoms.condition_xid(event.reason) in symptoms.FATAL_XIDS:
            yield str(event)


def lost_gpus(snapshot: Snapshot, gathered: Gathered) -> None:
    """Pods that hold a GPU and cannot see it any more. What a debug pod prints is no evidence."""
    offering = {node.name for node in snapshot.nodes if node.allocatable}
    # The device plugin sees all GPUs of its node: where it lost them, that is why the node offers too few.
    short = {node.name for node in snapshot.nodes if node.ready and node.short_of(snapshot.gpus_per_node)}
    for pod in snapshot.pods:
        if not (pod.gpus or pod.plugin) or pod.succeeded or pod.node in gathered.explained or not pod.node:
            continue
        if pod.plugin and pod.node not in short:
            continue
        if workloads.is_history(snapshot, pod):
            continue
        line = symptoms.lost(
            workloads.since_registered(pod, snapshot.logs(pod)), snapshot.now, snapshot.since
        )
        if line:
            gathered.found("gpu-lost", pod.called, f"{pod.called} on {pod.node}: {line}")
            if pod.node in offering or pod.plugin:
                gathered.explained.add(pod.node)


def short_count(snapshot: Snapshot, node: Node) -> str | None:
    """Why the node has fewer GPUs than it should, for all that can be told; None when it has all."""
    state = condition(node.item, HARDWARE)
    if text(state, "status") == "False" and text(state, "reason") == COUNT_MISMATCH:
        return f"{node.name} {HARDWARE}=False, {COUNT_MISMATCH}: {text(state, 'message')}"
    return node.short_of(snapshot.gpus_per_node)


def other_fault(node: Node) -> str | None:
    """A hardware condition that no rule knows; None where there is none."""
    state = condition(node.item, HARDWARE)
    reason = text(state, "reason")
    known = reason in _DEAD or reason == COUNT_MISMATCH or symptoms.condition_xid(reason) is not None
    if text(state, "status") != "False" or known:
        return None
    return f"{node.name} {HARDWARE}=False, {reason}: {text(state, 'message')}"
