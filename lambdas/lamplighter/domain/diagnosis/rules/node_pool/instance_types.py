"""Nodes of an instance type that nobody meant: without an NVIDIA GPU, or for another architecture than an image.

A NodePool allows every type that its requirements do not exclude. Karpenter does not know the keys of EKS Auto Mode,
and Auto Mode not those of Karpenter, so such a requirement excludes nothing.
"""

from lamplighter.data import instance_types
from lamplighter.domain.diagnosis.document import at, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.node_pool import AUTO_MODE_GROUP, KARPENTER_GROUP
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.node_pool.claim import INSTANCE_TYPE_LABEL, NODE_POOL_LABEL
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.reason import Said, reason

CAUSE = "wrong-instance-type"
ARCHITECTURE = "kubernetes.io/arch"
_OF_THE_OTHER = {KARPENTER_GROUP: f"{AUTO_MODE_GROUP}/", AUTO_MODE_GROUP: f"{KARPENTER_GROUP}/"}


def without_gpus(snapshot: Snapshot, gathered: Gathered) -> None:
    """Nodes of a NodePool whose instance type has no NVIDIA GPU."""
    for node in snapshot.nodes:
        kind = text(node.labels, INSTANCE_TYPE_LABEL)
        if NODE_POOL_LABEL not in node.labels or not instance_types.has_no_gpu(kind):
            continue
        without = reason("finding.evidence.type-without-gpu", node=node.name, type=kind)
        gathered.found(CAUSE, node.name, without, *unknown_keys(snapshot))
        gathered.explained.add(node.name)


def unknown_keys(snapshot: Snapshot) -> list[Said]:
    """Requirements of the NodePool that restrict nothing, because its controller does not know their keys."""
    node_pool = snapshot.node_pool
    prefix = _OF_THE_OTHER.get(node_pool.group)
    keys = [text(one, "key") for one in node_pool.requirements]
    unknown = sorted({key for key in keys if prefix and key.startswith(prefix)})
    if not unknown:
        return []
    return [reason("finding.evidence.unknown-keys", node_pool=node_pool.name, keys=", ".join(unknown))]


def architecture_of(snapshot: Snapshot, node: Node | None) -> list[Said]:
    """The architecture of a node, and that its NodePool allows several."""
    found = text(node.labels, ARCHITECTURE) if node else ""
    if node is None or not found:
        return []
    kind = text(node.labels, INSTANCE_TYPE_LABEL)
    evidence: list[Said] = [
        reason("finding.evidence.architecture", node=node.name, type=kind, architecture=found)
    ]
    allowed = [
        at(one, "values") for one in snapshot.node_pool.requirements if text(one, "key") == ARCHITECTURE
    ]
    several = sorted({str(name) for names in allowed if isinstance(names, list) for name in names})
    if len(several) > 1:
        name, listed = snapshot.node_pool.name, ", ".join(several)
        evidence.append(
            reason("finding.evidence.several-architectures", node_pool=name, architectures=listed)
        )
    return evidence
