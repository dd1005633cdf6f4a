"""The GPU checks that need no pod: allocatable GPUs, labels of GPU feature discovery, the operator, and fatal XIDs.

The caller reads the node and the log of its device plugin.
"""

from datetime import datetime, timedelta

from lamplighter.domain.checks.verdicts.verdict import (
    QUOTED,
    Measurement,
    Verdict,
    failed,
    not_proven,
    passed,
)
from lamplighter.domain.gpu import errors
from lamplighter.domain.gpu.errors import STICKY, GpuAction
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.domain.gpu.xid_log import condition_xid, sxid, xids
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.lab.model import GpuStack
from lamplighter.reasons.reason import Reason, Sentences, reason
from lamplighter.values.whole_number import whole_number

COUNT, REPLICAS, PRODUCT = "nvidia.com/gpu.count", "nvidia.com/gpu.replicas", "nvidia.com/gpu.product"
DRIVER = ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major")
_MIG = "-MIG-"


def allocatable(node: NodeFacts, kind: GpuType, slices: int = 1, replicas_asked: int = 1) -> Verdict:
    """Whether pods can get every GPU of the instance type, times the parts that each GPU is offered in.

    A label says how many pods share a GPU. Where nothing labels nodes, it is the number that was asked for.
    """
    replicas = whole_number(node.labels.get(REPLICAS, str(replicas_asked)))
    if replicas is None:
        return not_proven(reason("check.node.replicas-unread"))
    expected = kind.count * slices * replicas
    measured: dict[str, Measurement] = {"allocatable": node.gpus, "expected": expected}
    why = reason("check.node.allocatable", allocatable=node.gpus, expected=expected)
    return passed(why, measured) if node.gpus == expected else failed(why, measured)


def efa(node: NodeFacts, kind: GpuType) -> Verdict:
    """Whether pods can get every EFA device of the instance type."""
    measured: dict[str, Measurement] = {"allocatable": node.efa, "expected": kind.efa}
    why = reason("check.node.efa", allocatable=node.efa, expected=kind.efa)
    return passed(why, measured) if node.efa == kind.efa else failed(why, measured)


def labels(node: NodeFacts, kind: GpuType, *, discovery: bool) -> Verdict | Reason:
    """Whether GPU feature discovery labelled what the instance type has; a reason where it does not run."""
    shown: dict[str, Measurement] = {
        key: node.labels[key] for key in (COUNT, REPLICAS, PRODUCT, *DRIVER) if key in node.labels
    }
    if COUNT not in node.labels or PRODUCT not in node.labels:
        if not discovery:
            return reason("check.node.no-discovery")
        return not_proven(reason("check.node.not-labelled"), shown)
    product = node.labels[PRODUCT].removesuffix("-SHARED").partition(_MIG)[0]
    names = {name.replace(" ", "-") for name in kind.names}
    if product not in names:
        other = reason(
            "check.node.other-model", model=product[:60], type=kind.instance_type, expected=kind.names[0]
        )
        return failed(other, shown)
    # Slices that are all alike are counted as GPUs.
    if not node.sliced and node.labels[COUNT] != str(kind.count):
        counted = reason("check.node.counted", counted=node.labels[COUNT][:20], expected=kind.count)
        return failed(counted, shown)
    if not any(key in node.labels for key in DRIVER):
        return not_proven(reason("check.node.no-driver"), shown)
    return passed(reason("check.node.labelled", counted=node.labels[COUNT][:20], model=kind.names[0]), shown)


def validator(stack: GpuStack) -> Reason | None:
    """Why the validation of the GPU Operator proves nothing; None with the operator.

    With the operator, a node is ready for the ladder only after this validation (domain/gpu/readiness.py).
    """
    return None if stack == "operator" else reason("check.node.no-operator")


def xid(node: NodeFacts, printed: str | None, now: datetime) -> Verdict | Reason:
    """Whether a fatal GPU error was reported since the node exists; a reason where nothing would report one.

    `printed` is the log of the device plugin on the node, None where it cannot be read. NVIDIA's table says which
    errors are fatal; an error that it does not have proves nothing.
    """
    # An agent that lost its own connection says nothing of the GPU.
    lost = errors.of_monitoring(node.hardware_fault.partition(":")[0])
    agent = node.monitored and not lost
    watched = ["the node monitoring agent"] if agent else []
    watched += [] if printed is None else ["the device plugin's log"]
    measured: dict[str, Measurement] = {"read": watched}
    if node.hardware_fault and not lost:
        return _unhealthy(node, now, measured)
    unlisted = None
    for report in errors.reports(xids(printed or "", now, node.created), node.instance_type):
        number, quoted = report.number, report.line[:QUOTED]
        if "XidCriticalError" in report.line or (report.action is not None and report.action.fatal):
            action = max(report.action or GpuAction.RESET, GpuAction.RESET)
            to_do = reason(f"check.node.xid-{action.word}")
            why = reason("check.node.xid", xid=number, line=quoted, action=to_do)
            switch = sxid(printed or "", now, node.created) if number == errors.NVLINK else ""
            both = Sentences((why, reason("check.node.sxid", line=switch[:QUOTED]))) if switch else why
            return failed(both, {**measured, "xid": number})
        if report.action is None:
            unlisted = reason("check.node.xid-unlisted", xid=number, line=quoted)
    if unlisted:
        return not_proven(unlisted, measured)
    if not watched:
        lost_words = reason("check.node.agent-lost", words=node.hardware_fault)
        return lost_words if lost else reason("check.node.xid-unwatched")
    return passed(_no_xid(agent=agent, log=printed is not None), measured)


def _unhealthy(node: NodeFacts, now: datetime, measured: dict[str, Measurement]) -> Verdict:
    """The condition by which the node monitoring agent says so, and its age: the agent never takes one back."""
    number = condition_xid(node.hardware_fault)
    words = node.hardware_fault
    if number is None:
        why = reason("check.node.not-healthy", words=words)
    else:
        why = reason("check.node.not-healthy-xid", xid=number, words=words)
    since = node.hardware_fault_since
    if since is None or now - since < STICKY:
        return failed(why, measured)
    age = timedelta(minutes=(now - since) // timedelta(minutes=1))
    return failed(Sentences((why, reason("check.node.sticky", since=since, age=age))), measured)


def _no_xid(*, agent: bool, log: bool) -> Reason:
    if agent and log:
        return reason("check.node.no-xid")
    if agent:
        return reason("check.node.no-xid-of-agent")
    return reason("check.node.no-xid-in-log")
