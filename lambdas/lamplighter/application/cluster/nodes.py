"""How a pool's nodes offer their GPUs: the lease whose settings apply, the labels, and whether the nodes show them.

A node is labelled only while no work has its GPUs. A node in use stays as it is, and the reason says so.
"""

from datetime import datetime

from lamplighter.adapters.kubernetes import nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.run import Run
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.gpu.sharing import offer, unmet_offer
from lamplighter.domain.pool.nodes import NodeFacts, PodFacts
from lamplighter.domain.pool.target import first_opened
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, Said, reason


def wanted(run: Run, lab: Lab, now: datetime) -> tuple[Offer, Reason | None]:
    """The offer of the pool's GPUs, and why it is not the one that this run's lease asks for; None where it is."""
    first = first_opened(lease for lease in run.leases() if lease.in_force(now))
    mine = next((lease for lease in run.leases() if lease.id == run.lease), None)
    asked = offer(lab, run.pool, mine.window if mine else None)
    kept = offer(lab, run.pool, first.window if first else None)
    if first is None or first.id == run.lease or kept == asked:
        return asked, None
    why = reason(
        "gpu.opened-first", lease=first.called(), pool=run.pool, kept=kept.called, asked=asked.called
    )
    return kept, why


def label(node: NodeFacts, shall: Offer, connection: Connection) -> Reason | None:
    """Label a node with the offer of its GPUs; why it stays as it is, None where it does not."""
    missing = {key: value for key, value in (shall.labels or {}).items() if node.labels.get(key) != value}
    if not missing:
        return None
    busy = [pod for pod in pods.on_node(connection, node.name) if _holds(pod)]
    if busy:
        return reason("gpu.node-in-use", node=node.name, pod=busy[0].called)
    nodes.label(connection, node.name, missing)
    return None


def not_offered_because(
    node: NodeFacts, shall: Offer, connection: Connection, *, discovery: bool = True
) -> list[Said]:
    """What a node does not show yet of the offer; empty also where its GPUs are in use as they were."""
    if shall.labels is None or label(node, shall, connection):
        return []
    return unmet_offer(node, shall, discovery=discovery)


def labels_of(here: list[NodeFacts], shall: Offer) -> dict[str, dict[str, str | None]]:
    """The present values of the offer's labels, by node."""
    return {node.name: {key: node.labels.get(key) for key in shall.labels or {}} for node in here}


def _holds(pod: PodFacts) -> bool:
    """Whether a pod is people's work on a GPU: the operator's own pods and our checks are not."""
    own = pod.namespace == checks.NAMESPACE or pod.labels.get("app", "").startswith("nvidia-")
    return pod.accelerated and not pod.finished and not pod.daemon and not own
