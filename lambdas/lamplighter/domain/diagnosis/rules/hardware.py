"""What is wrong with a GPU itself: a fatal XID, a GPU that a running pod lost, too few GPUs, or undivided ones.

A fatal XID comes first: it explains the lost GPU and the missing GPUs that it causes.
"""

import re
from collections.abc import Iterator

from lamplighter.domain.diagnosis.document import condition, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules import symptoms, workloads
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.quotes import quote, quote_of_condition, quote_of_pod
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.gpu.sharing import MIG_STATE
from lamplighter.reasons.reason import Reason, Said, Sentences, reason

HARDWARE = "AcceleratedHardwareReady"
COUNT_MISMATCH = "NvidiaDeviceCountMismatch"
# The MIG manager says so at each change of the label. mig-parted logs by logrus.
_MIG_ATTEMPT = re.compile(r"Updating to MIG config")
_MIG_ERRORS = "level=fatal", "level=error"
# Reasons of the node monitoring agent that mean a dead GPU without naming an XID.
_DEAD = {"NvidiaDoubleBitError", "DCGMDiagnosticFailure"}


def fatal_errors(snapshot: Snapshot, gathered: Gathered) -> None:
    """Fatal XIDs: in the node's condition, in its events, or in a log where GPUs are missing."""
    for node in snapshot.nodes:
        evidence = [*_of_condition(node), *_of_logs(snapshot, node)]
        if evidence:
            gathered.explained.add(node.name)
        if evidence or (evidence := list(_of_events(snapshot, node))):
            gathered.found("xid", node.name, *evidence)


def _of_condition(node: Node) -> Iterator[Said]:
    state = condition(node.item, HARDWARE)
    code = text(state, "reason")
    if text(state, "status") != "False":
        return
    if code in _DEAD or symptoms.condition_xid(code) in symptoms.FATAL_XIDS:
        yield quote_of_condition(node.name, state)


def _of_logs(snapshot: Snapshot, node: Node) -> Iterator[Said]:
    short = node.short_of(snapshot.gpus_per_node)
    for pod in snapshot.pods_on(node):
        for xid, line in symptoms.xids(snapshot.logs(pod), snapshot.now, snapshot.since):
            # The device plugin takes a GPU away for more XIDs than those that are fatal.
            if xid in symptoms.FATAL_XIDS or (short and "XidCriticalError" in line):
                yield quote(pod.called, line)
                yield short or ""


def _of_events(snapshot: Snapshot, node: Node) -> Iterator[Said]:
    """What events say, unless the node monitoring agent's condition says that the GPUs are well."""
    if text(condition(node.item, HARDWARE), "status") == "True":
        return
    for event in snapshot.node_events(node):
        if symptoms.condition_xid(event.reason) in symptoms.FATAL_XIDS:
            yield str(event)


def lost_gpus(snapshot: Snapshot, gathered: Gathered) -> None:
    """Pods that hold a GPU and no longer see it. The output of a debug pod is no evidence."""
    offering = {node.name for node in snapshot.nodes if node.allocatable}
    # The device plugin sees all GPUs of its node. If it lost them, the node offers too few for that reason.
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
            gathered.found("gpu-lost", pod.called, quote_of_pod(pod, line))
            if pod.node in offering or pod.plugin:
                gathered.explained.add(pod.node)


def sliced(snapshot: Snapshot, gathered: Gathered) -> None:
    """GPUs that could not be divided by MIG: NVIDIA's MIG manager sets the label, and its log says why."""
    for node in snapshot.nodes:
        if text(node.labels, MIG_STATE) != "failed" or node.name in gathered.explained:
            continue
        # Without driver or runtime nothing is divided: the rules of those say what is wrong.
        operands = (pod for pod in snapshot.pods_on(node) if pod.operand and not pod.healthy)
        if any(workloads.symptom_of(snapshot, pod) for pod in operands):
            continue
        wanted = text(node.labels, "nvidia.com/mig.config")
        said = [
            quote(pod.called, line)
            for pod in snapshot.pods_on(node)
            for line in _MIG_ATTEMPT.split(snapshot.logs(pod))[-1].splitlines()
            if "nvidia-mig-manager" in pod.name and any(level in line for level in _MIG_ERRORS)
        ]
        undivided = reason("finding.evidence.mig-failed", node=node.name, config=wanted, label=MIG_STATE)
        gathered.unknown(Sentences((undivided, *said[:1])))
        gathered.explained.add(node.name)


def count_mismatch(node: Node) -> Reason | None:
    """The condition by which the node monitoring agent counts too few GPUs; None where it does not."""
    state = condition(node.item, HARDWARE)
    if text(state, "status") == "False" and text(state, "reason") == COUNT_MISMATCH:
        return quote_of_condition(node.name, state)
    return None


def other_fault(node: Node) -> Reason | None:
    """A hardware condition that no rule knows; None where there is none."""
    state = condition(node.item, HARDWARE)
    code = text(state, "reason")
    known = code in _DEAD or code == COUNT_MISMATCH or symptoms.condition_xid(code) is not None
    if text(state, "status") != "False" or known:
        return None
    return quote_of_condition(node.name, state)
