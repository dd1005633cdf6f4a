"""What a sweep asks of Kubernetes: the pool's nodes, and whether any pod holds a GPU of them.

Asked only where the answer matters, and may go unanswered; how long a pool is idle is kept in the ledger.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from handlers.guard_watch import Watch
from lamplighter.domain.guard_facts import PoolFacts
from lamplighter.domain.pool import PoolState
from lamplighter.errors import OutsideFailed, TryLater

if TYPE_CHECKING:
    from lamplighter.domain.nodes import NodeFacts

_logger = logging.getLogger(__name__)


def with_kubernetes(watch: Watch, facts: PoolFacts, state: PoolState) -> PoolFacts:
    nodes = pool_nodes(watch, facts.pool)
    if nodes is None:
        return replace(facts, kubernetes_nodes=None)
    leased = nodes if facts.target.nodes else ()
    return replace(
        facts,
        kubernetes_nodes=tuple(node.name for node in nodes),
        unprotected=tuple(node.name for node in leased if not node.protected and not node.cordoned),
        idle_since=_idle_since(watch, facts, state, nodes),
    )


def pool_nodes(watch: Watch, pool: str) -> "Sequence[NodeFacts] | None":
    """The pool's nodes in Kubernetes, or None where it does not answer."""
    from lamplighter.adapters.kubernetes import nodes  # noqa: PLC0415 -- only where it matters

    connection = watch.kubernetes()
    if connection is None:
        return None
    try:
        return nodes.pool_nodes(connection, watch.capacity.lab.nodegroup_name(pool))
    except (OutsideFailed, TryLater) as error:
        watch.without_kubernetes(error)
        return None


def node_names(watch: Watch, pool: str) -> tuple[str, ...] | None:
    """Their names, or None where Kubernetes does not answer."""
    nodes = pool_nodes(watch, pool)
    return None if nodes is None else tuple(node.name for node in nodes)


def _idle_since(
    watch: Watch, facts: PoolFacts, state: PoolState, nodes: "Sequence[NodeFacts]"
) -> datetime | None:
    """Since when no pod has held a GPU of the pool; None where one does, or nobody needs to know."""
    from lamplighter.domain.idleness import idle_since  # noqa: PLC0415 -- only where a lease may be idle

    limited = [lease for lease in facts.leases if lease.id in facts.idle_after and lease.in_force(facts.now)]
    if not limited:
        return None
    held = _holds_a_gpu(watch, nodes)
    if held is None:
        return None
    ledger, since = watch.capacity.ledger, idle_since(state, facts.now, held=held)
    if since is not None:
        ledger.note_idle(facts.pool, since, facts.now)
    elif state.idle_since is not None:
        ledger.note_busy(facts.pool, facts.now)
    return since


def _holds_a_gpu(watch: Watch, nodes: "Sequence[NodeFacts]") -> bool | None:
    """Whether any pod on these nodes holds one; asks node by node, and no further than the first."""
    from lamplighter.adapters.kubernetes import pods  # noqa: PLC0415

    connection = watch.kubernetes()
    if connection is None:
        return None
    try:
        return any(
            pod.accelerated and not pod.finished
            for node in nodes
            for pod in pods.on_node(connection, node.name)
        )
    except (OutsideFailed, TryLater) as error:
        _logger.warning("whether GPUs are held is not known: %s", error)
        return None
