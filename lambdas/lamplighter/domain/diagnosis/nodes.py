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
            "node-not-ready", node.name, f"{node.name} Ready: {node.ready_said}", *_network(snapshot)
        )
        gathered.explained.add(node.name)


def _network(snapshot: Snapshot) -> list[str]:
    """What the network plugin's pods say, which is what most nodes wait for."""
    return [
        f"{namespace}/{name}: {event}"
        for (kind, namespace, name), events in snapshot.events.items()
        if kind == "Pod" and name.startswith("aws-node")
        for event in events[-1:]
        if event.reason in {"Failed", "BackOff", "Unhealthy", "FailedCreatePodSandBox"}
    ]
