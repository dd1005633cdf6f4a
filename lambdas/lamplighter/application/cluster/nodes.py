"""How a pool's nodes offer their GPUs: whose word counts, the labels that say it, and whether they show it.

A node is changed only while nothing holds its GPUs; what is in use stays as it is, and that is said.
"""

from datetime import datetime

from lamplighter.adapters.kubernetes import nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.run import Run
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.gpu.sharing import offer, unmet
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.nodes import NodeFacts, PodFacts
from lamplighter.lab.model import Lab


def heard(run: Run, now: datetime) -> Lease | None:
    """The lease whose settings the pool has: of those in force the one that opened first."""
    running = [lease for lease in run.leases() if lease.in_force(now)]
    return min(running, key=lambda lease: (lease.opens, lease.order, lease.id), default=None)


def wanted(run: Run, lab: Lab, now: datetime) -> tuple[Offer, str]:
    """What the pool's GPUs shall be, and why that is not what this run's lease asks for; "" where it is."""
    first = heard(run, now)
    mine = next((lease for lease in run.leases() if lease.id == run.lease), None)
    asked = offer(lab, run.pool, mine.window if mine else None)
    kept = offer(lab, run.pool, first.window if first else None)
    if first is None or first.id == run.lease or kept == asked:
        return asked, ""
    return kept, (
        f"{first.called()}, which opened first, has the GPUs of pool {run.pool} {kept.called};"
        f" they are not {asked.called} while it is open"
    )


def label(node: NodeFacts, shall: Offer, connection: Connection) -> str:
    """Tell a node how to offer its GPUs; why it was left as it is, "" where it was not."""
    missing = {key: value for key, value in (shall.labels or {}).items() if node.labels.get(key) != value}
    if not missing:
        return ""
    busy = [pod for pod in pods.on_node(connection, node.name) if _holds(pod)]
    if busy:
        return f"{node.name} keeps its GPUs as they are: {busy[0].called} holds one"
    nodes.label(connection, node.name, missing)
    return ""


def not_offered_because(
    node: NodeFacts, shall: Offer, connection: Connection, *, discovery: bool = True
) -> list[str]:
    """What a node does not show yet of what it was told; empty also where its GPUs are in use otherwise."""
    if shall.labels is None or (label(node, shall, connection)):
        return []
    return unmet(node, shall, discovery=discovery)


def labels_of(found: list[NodeFacts], shall: Offer) -> dict[str, dict[str, str | None]]:
    """What the nodes say now of the labels in question, by node."""
    return {node.name: {key: node.labels.get(key) for key in shall.labels or {}} for node in found}


def _holds(pod: PodFacts) -> bool:
    """Work on a GPU: the operator's own pods and our checks come and go with the setting."""
    own = pod.namespace == checks.NAMESPACE or pod.labels.get("app", "").startswith("nvidia-")
    return pod.accelerated and not pod.finished and not pod.daemon and not own
