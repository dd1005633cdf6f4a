"""Step AtStake: the nodes that leave when a lease ends, and the pods on them. It changes nothing."""

from lamplighter.adapters.kubernetes import nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.drain import going
from lamplighter.application.cluster.run import Run
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.checks.ladder import NAMESPACE
from lamplighter.domain.leases.at_stake import AtStake
from lamplighter.domain.pool.drain import emptying
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.reasons.fields import SHOWN, to_document
from lamplighter.reasons.reason import reason


def at_stake(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """What the end of the run's lease would take away now. BadInput where there is no such lease."""
    lease = next((known for known in run.leases() if known.id == run.lease), None)
    if lease is None:
        raise BadInput(reason("gpu.lease-unknown", lease=run.lease or ""))
    here = nodes.pool_nodes(connection, identity(lab, run.pool).selector)
    leaving = going(run, lab, connection, here, lease.closes)
    work: list[PodFacts] = []
    for node in leaving:
        work += [
            pod for pod in emptying(pods.on_node(connection, node.name)).evict if pod.namespace != NAMESPACE
        ]
    work.sort(key=lambda pod: (pod.gpus == 0, pod.called))
    return to_document(
        AtStake(
            nodes=tuple(node.name for node in leaving),
            pods=tuple(pod.called for pod in work),
            staying=len(here) - len(leaving),
        ),
        SHOWN,
    )
