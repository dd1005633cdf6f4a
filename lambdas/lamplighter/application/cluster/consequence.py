"""The consequence of a ladder's verdicts, and step Empty, which empties the nodes that are replaced.

It reads which pods have GPUs. domain.checks.after_verdict decides, and step Replace removes.
"""

from collections.abc import Mapping, Sequence

from lamplighter import clock
from lamplighter.adapters.kubernetes import evictions, nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.adapters.kubernetes.evictions import Eviction
from lamplighter.application.cluster.run import Run
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.checks import after_verdict
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.checks.after_verdict import CheckDecision, JudgedNode
from lamplighter.domain.checks.gpu_proof import carried_over
from lamplighter.domain.checks.placement import GpuNode
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.pool.drain import FORCED_GRACE_SECONDS, LEAVING, PATIENCE, emptying
from lamplighter.errors import TryLater
from lamplighter.lab.checks import Checks
from lamplighter.lab.model import Lab
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from lamplighter.values import instant

FORCED_NAMED = 50
"""The number of force-deleted pods that the result names: a run's state has room for no more."""
PROOFS = 20
"""The number of a pool's last proofs that are read for the last verdict on a busy node."""


def known_before(
    rows: list[dict[str, object]], gpu_nodes: Sequence[GpuNode], run: Run
) -> list[Mapping[str, object]]:
    """The verdicts. Where people's work kept a check from running, the last verdict on that node, with its age."""
    if not any(row.get("busy") for row in rows):
        return [*rows]
    created = {node.name: node.facts.created for node in gpu_nodes}
    return carried_over(rows, run.books().proofs(run.pool, PROOFS), created, clock.now())


def what_follows(
    rows: Sequence[Mapping[str, object]],
    gpu_nodes: Sequence[GpuNode],
    settings: Checks,
    run: Run,
    connection: Connection,
) -> CheckDecision:
    """What the lab does after these verdicts."""
    if settings.on_failure != "replace" or run.lease is None:
        return after_verdict.decide(rows, (), settings.on_failure)
    failed = {row.get("node") for row in rows if row.get("verdict") == Outcome.FAILED}
    judged = [
        JudgedNode(node.name, node.facts.instance, _used(connection, node.name))
        for node in gpu_nodes
        if node.name in failed
    ]
    lease = run.books().lease(run.pool, run.lease)
    once = 0 if lease is None or lease.replaced else lease.nodes
    return after_verdict.decide(rows, judged, settings.on_failure, replaceable=once)


def _used(connection: Connection, node: str) -> bool:
    here = pods.on_node(connection, node)
    return any(pod.gpus and not pod.finished and pod.namespace != checks.NAMESPACE for pod in here)


def empty(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """Step Empty: cordon the failed nodes that Validate named, and evict people's pods.

    Raises TryLater while pods may still end by themselves. Then it deletes them, as Drain does. It does nothing where
    the lease is over.
    """
    if over := run.over():
        return {"nodes": [], "over": True, "reason": document(over)}
    named = {str(each.get("name")) for each in run.found("Validate", "replace")}
    here = [
        node for node in nodes.pool_nodes(connection, identity(lab, run.pool).selector) if node.name in named
    ]
    now, waiting, forced = clock.now(), list[str](), list[str]()
    for node in here:
        began = instant.foreign(node.annotations.get(LEAVING))
        if not node.cordoned or began is None:
            nodes.cordon(connection, node.name, {LEAVING: instant.written(now)})
        work = emptying(pods.on_node(connection, node.name))
        left = [pod for pod in work.evict if evictions.evict(connection, pod) is not Eviction.GONE]
        if now < (began or now) + PATIENCE:
            waiting += [pod.called for pod in (*left, *work.ending)]
            continue
        for pod in (*left, *work.ending):
            pods.delete(connection, pod.namespace, pod.name, grace_seconds=FORCED_GRACE_SECONDS)
            forced.append(pod.called)
    if waiting:
        raise TryLater(reason("gpu.pods-still-end", pods=tuple(waiting), count=len(waiting)))
    rows = [{"name": node.name, "instance": node.instance} for node in here]
    return {"nodes": rows, "forced": forced[:FORCED_NAMED], "over": False}
