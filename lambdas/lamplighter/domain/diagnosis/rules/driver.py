"""A driver that is older than the GPUs of its node: it does not see them, so the node offers none."""

from lamplighter.data import instance_types
from lamplighter.domain.diagnosis.document import at, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values.whole_number import whole_number

_LABELS = ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major")


def too_old(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """Whether the node's type needs a newer driver than it has, by its labels or its image; then it is noted."""
    needed = instance_types.needed_driver(node.instance_type)
    if needed is None:
        return False
    least, release = needed
    shown = next(filter(None, (text(node.labels, label) for label in _LABELS)), "")
    labelled = whole_number(shown.partition(".")[0])
    if labelled is None:
        evidence = _by_image(snapshot, node, release)
    elif labelled < least:
        evidence = reason("finding.evidence.driver-labelled", node=node.name, driver=shown)
    else:
        evidence = None
    if evidence is None:
        return False
    gathered.found(
        "driver-too-old",
        node.name,
        evidence,
        reason("finding.evidence.driver-needed", type=node.instance_type, driver=least),
        reason("finding.evidence.offers-none", node=node.name),
        advice=reason("finding.driver-too-old.type.advice", driver=least, release=release),
    )
    return True


def _by_image(snapshot: Snapshot, node: Node, having: str) -> Reason | None:
    """That EKS' image is older than the release `having` the driver; None where nothing says so.

    Where the operator installs the driver, the image says nothing.
    """
    if at(snapshot.policy, "spec", "driver", "enabled") is True:
        return None
    image = text(node.item, "status", "nodeInfo", "osImage")
    if (
        image.startswith("Bottlerocket")
        and "nvidia" in image
        and text(snapshot.nodegroup, "amiType") != "CUSTOM"
    ):
        return reason("finding.evidence.driver-of-image", image=image)
    release = text(snapshot.nodegroup, "releaseVersion")
    day = release.rpartition("-")[2]
    al2023 = text(snapshot.nodegroup, "amiType").startswith("AL2023")
    if al2023 and day.isdecimal() and len(day) == len(having) and day < having:
        return reason("finding.evidence.driver-of-image", image=release)
    return None
