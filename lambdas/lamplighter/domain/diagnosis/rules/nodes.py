"""Why a node that has joined is not Ready; its GPUs are judged only once it is."""

import re

from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.symptoms import symptom
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import Stage

_NETWORK = re.compile(r"network|\bcni\b", re.IGNORECASE)


def ready(snapshot: Snapshot, gathered: Gathered) -> None:
    """Nodes that are not Ready: starting within their normal time, or a finding."""
    for node in snapshot.nodes:
        if node.ready:
            continue
        began = node.created or snapshot.since
        if not node.lost_contact and snapshot.age(began) <= Stage.READY.normal:
            gathered.progress(Stage.READY, node.name, began)
            continue
        unready = f"{node.name} Ready: {node.ready_said}"
        if runtime := _without_runtime(snapshot, node):
            gathered.found("runtime-missing", node.name, runtime, unready)
        else:
            gathered.found("node-not-ready", node.name, unready, *snapshot.network_says)
        gathered.explained.add(node.name)


def _without_runtime(snapshot: Snapshot, node: Node) -> str:
    """What says that the network plugin itself waits for NVIDIA's runtime, as amazon-vpc-cni-k8s issue 3104 shows."""
    if not _NETWORK.search(node.ready_said):
        return ""
    found = symptom(snapshot.network_says, snapshot.now, snapshot.since)
    return found.said if found and found.cause == "runtime-missing" else ""


def troubled(snapshot: Snapshot, gathered: Gathered) -> None:
    """Ready nodes of which another condition says that something is wrong, where nothing else explains them."""
    for node in snapshot.nodes:
        if node.ready and node.name not in gathered.explained:
            for trouble in node.troubles:
                gathered.unknown(trouble)
