"""What a node itself says of its GPUs, without a pod: how many can be had, what its labels say, whether one died.

Judges; which node, and what its device plugin printed, is handed in.
"""

from datetime import datetime

from lamplighter.domain.checks.verdicts.verdict import Measurement, Verdict, failed, not_proven, passed
from lamplighter.domain.diagnosis.rules.symptoms import FATAL_XIDS, condition_xid, xids
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.domain.pool.nodes import NodeFacts

COUNT, REPLICAS, PRODUCT = "nvidia.com/gpu.count", "nvidia.com/gpu.replicas", "nvidia.com/gpu.product"
DRIVER = ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major")
_MIG = "-MIG-"


def allocatable(node: NodeFacts, kind: GpuType, slices: int = 1, replicas_asked: int = 1) -> Verdict:
    """Whether pods can have every GPU of the instance type, times the parts each is handed out in.

    By how many pods each is shared, its label says; where nothing labels nodes, it is what was asked for.
    """
    replicas = _number(node.labels.get(REPLICAS, str(replicas_asked)))
    if replicas is None:
        return not_proven("the label that says by how many its GPUs are shared cannot be read")
    wanted, found = kind.count * slices * replicas, node.gpus
    measured: dict[str, Measurement] = {"allocatable": found, "expected": wanted}
    text = f"{found} of {wanted} GPUs can be allocated"
    return passed(text, measured) if found == wanted else failed(text, measured)


def labels(node: NodeFacts, kind: GpuType, *, discovery: bool) -> Verdict | str:
    """Whether discovery found what the instance type has; a sentence where nothing discovers here."""
    shown: dict[str, Measurement] = {
        key: node.labels[key] for key in (COUNT, REPLICAS, PRODUCT, *DRIVER) if key in node.labels
    }
    if COUNT not in node.labels or PRODUCT not in node.labels:
        if not discovery:
            return "GPU feature discovery does not run here"
        return not_proven("GPU feature discovery has not labelled the node", shown)
    product = node.labels[PRODUCT].removesuffix("-SHARED").partition(_MIG)[0]
    names = {name.replace(" ", "-") for name in kind.names}
    if product not in names:
        return failed(
            f"discovery found a {product[:60]} where a {kind.instance_type} has {kind.names[0]}", shown
        )
    # Slices that are all alike are counted as GPUs.
    if not node.sliced and node.labels[COUNT] != str(kind.count):
        return failed(
            f"discovery counts {node.labels[COUNT][:20]} GPUs where {kind.count} are expected", shown
        )
    if not any(key in node.labels for key in DRIVER):
        return not_proven("discovery has not named the driver", shown)
    return passed(f"discovery found {node.labels[COUNT]} {kind.names[0]} and its driver", shown)


def xid(node: NodeFacts, printed: str | None, now: datetime) -> Verdict | str:
    """Whether anything reports a fatal error of a GPU since the node is there; a sentence where nobody would.

    `printed` is the device plugin's log on the node, None where it cannot be read.
    """
    watched = ["the node monitoring agent"] if node.monitored else []
    watched += [] if printed is None else ["the device plugin's log"]
    measured: dict[str, Measurement] = {"read": watched}
    if node.hardware_fault:
        named = condition_xid(node.hardware_fault)
        told = f" (XID {named})" if named is not None else ""
        return failed(
            f"the node monitoring agent calls the accelerator not ready{told}: {node.hardware_fault}",
            measured,
        )
    for number, line in xids(printed or "", now, node.created):
        if number in FATAL_XIDS or "XidCriticalError" in line:
            return failed(f"XID {number}: {line[:200]}", {**measured, "xid": number})
    if not watched:
        return "no device plugin's log can be read and no node monitoring agent runs"
    return passed(f"no fatal XID is reported by {' and '.join(watched)}", measured)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
