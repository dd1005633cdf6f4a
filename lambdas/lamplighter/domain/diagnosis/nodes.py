"""Why a node that has joined is not Ready; its GPUs are judged only once it is."""

from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import Stage


def ready(snapshot: Snapshot, gathered: Gathered) -> None:
    """Nodes that are not Ready: starting within their normal time, or a finding."""
    for node in snapshot.nodes:
        if node.ready:
            continue
        began = node.created or snapshot.since
        if not node.lost_contact and snapshot.age(began) <= Stage.READY.normal:
            gathered.progress(Stage.READY, node.name, began)
            continue
        gathered.found(
            "node-not-ready", node.name, f"{node.name} Ready: {node.ready_said}", *snapshot.network_says
        )
        gathered.explained.add(node.name)


def troubled(snapshot: Snapshot, gathered: Gathered) -> None:
    """Ready nodes of which another condition says that something is wrong, where nothing else explains them."""
    for node in snapshot.nodes:
        if node.ready and node.name not in gathered.explained:
            for trouble in node.troubles:
                gathered.unknown(trouble)
