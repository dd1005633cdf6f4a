"""What is wrong with a GPU itself: a fatal XID, a GPU that a running pod lost, too few GPUs, or undivided ones.

A fatal XID comes first: it explains the lost GPU and the missing GPUs that it causes.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple

from lamplighter.domain.diagnosis.document import condition, instant, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules import symptoms, workloads
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.quotes import quote, quote_of_condition, quote_of_pod
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.gpu import errors
from lamplighter.domain.gpu.errors import STICKY, GpuAction
from lamplighter.domain.gpu.sharing import MIG_STATE
from lamplighter.domain.gpu.xid_log import condition_xid, sxid, xids
from lamplighter.reasons.reason import Reason, Said, Sentences, reason

HARDWARE = "AcceleratedHardwareReady"
COUNT_MISMATCH = "NvidiaDeviceCountMismatch"
NO_FABRIC_MANAGER = "FabricManagerNotRunning"
# The MIG manager says so at each change of the label. mig-parted logs by logrus.
_MIG_ATTEMPT = "Updating to MIG config"
_MIG_ERRORS = "level=fatal", "level=error"


class _Fault(NamedTuple):
    """What a GPU reported, and what NVIDIA says to do; `action` is None where its table does not have it."""

    action: GpuAction | None
    evidence: tuple[Said, ...]


def fatal_errors(snapshot: Snapshot, gathered: Gathered) -> None:
    """GPU errors in the node's condition, in its events, or in a log; each by NVIDIA's table of actions."""
    faults: list[tuple[str, GpuAction, list[Said]]] = []
    for node in snapshot.nodes:
        if text(condition(node.item, HARDWARE), "reason") == NO_FABRIC_MANAGER and _unhealthy(node):
            gathered.found("driver-broken", node.name, *_quoted(snapshot, node))
            gathered.explained.add(node.name)
            continue
        found = [*_of_condition(snapshot, node), *_of_logs(snapshot, node)]
        if any(fault.action is not None for fault in found):
            gathered.explained.add(node.name)
        found = found or list(_of_events(snapshot, node))
        known = [fault.action for fault in found if fault.action is not None]
        if known:
            faults.append((node.name, max(known), [line for fault in found for line in fault.evidence]))
            continue
        for fault in found:
            gathered.unknown(_together(fault.evidence))
    actions = {action for _, action, _ in faults}
    for node_name, action, evidence in faults:
        to_do = reason(f"finding.xid.{action.word}", node=node_name) if len(actions) > 1 else ""
        urgent = reason(f"finding.xid.{max(actions).word}.advice")
        gathered.found("xid", node_name, *evidence, to_do, advice=urgent)


def _unhealthy(node: Node) -> bool:
    return text(condition(node.item, HARDWARE), "status") == "False"


def _together(parts: Iterable[Said]) -> Said:
    stated = tuple(part for part in parts if part)
    return stated[0] if len(stated) == 1 else Sentences(stated)


def _of_condition(snapshot: Snapshot, node: Node) -> Iterator[_Fault]:
    state = condition(node.item, HARDWARE)
    code = text(state, "reason")
    if not _unhealthy(node) or code == COUNT_MISMATCH or errors.of_monitoring(code):
        return
    xid = condition_xid(code)
    action = errors.agent_action(code, node.instance_type, xid)
    if action is None and xid is None:
        # other_fault says it, where nothing else explains what is missing.
        return
    if action is not GpuAction.APPLICATION:
        yield _Fault(action, (*_quoted(snapshot, node), _unlisted(xid, action)))


def _quoted(snapshot: Snapshot, node: Node) -> tuple[Said, ...]:
    """The condition of the node, and its age where it may be over."""
    state = condition(node.item, HARDWARE)
    since = instant(state, "lastTransitionTime")
    words = quote_of_condition(node.name, state)
    if since is None or snapshot.age(since) < STICKY:
        return (words,)
    age = timedelta(minutes=snapshot.age(since) // timedelta(minutes=1))
    return (words, reason("finding.evidence.sticky", since=since, age=age))


def _unlisted(xid: int | None, action: GpuAction | None) -> Said:
    return "" if action is not None or xid is None else reason("finding.evidence.xid-unlisted", xid=xid)


def _of_logs(snapshot: Snapshot, node: Node) -> Iterator[_Fault]:
    short = node.short_of(snapshot.gpus_per_node)
    for pod in snapshot.pods_on(node):
        log = snapshot.logs(pod)
        for report in errors.reports(xids(log, snapshot.now, snapshot.since), node.instance_type):
            action = report.action
            # The device plugin takes a GPU away for more Xids than those that are fatal.
            taken = short is not None and "XidCriticalError" in report.line
            if taken and action is not None:
                action = max(action, GpuAction.RESET)
            if action is None or action.fatal:
                unlisted = _unlisted(report.number, action)
                switch = sxid(log, snapshot.now, snapshot.since) if report.number == errors.NVLINK else ""
                root = reason("finding.evidence.sxid", line=quote(pod.called, switch)) if switch else ""
                yield _Fault(action, (quote(pod.called, report.line), root, short or "", unlisted))


def _of_events(snapshot: Snapshot, node: Node) -> Iterator[_Fault]:
    """What events say, unless the node monitoring agent's condition says that the GPUs are well."""
    if text(condition(node.item, HARDWARE), "status") == "True":
        return
    for event in snapshot.node_events(node):
        xid = condition_xid(event.reason)
        action = None if xid is None else errors.xid_action(xid, node.instance_type)
        if xid is not None and (action is None or action.fatal):
            yield _Fault(action, (str(event), _unlisted(xid, action)))


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
            for line in snapshot.logs(pod).rpartition(_MIG_ATTEMPT)[2].splitlines()
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


def other_fault(snapshot: Snapshot, node: Node) -> Said | None:
    """A condition of the node monitoring agent that no rule knows, or a fault of its own; None where there is none."""
    state = condition(node.item, HARDWARE)
    code = text(state, "reason")
    if not _unhealthy(node) or code == COUNT_MISMATCH:
        return None
    if errors.of_monitoring(code):
        return _together((*_quoted(snapshot, node), reason("finding.evidence.monitoring-fault")))
    xid = condition_xid(code)
    if xid is not None or errors.agent_action(code) is not None:
        return None
    return _together(_quoted(snapshot, node))
