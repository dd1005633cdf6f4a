"""Step AwaitGpus: waits for a bounded time until the nodes' GPUs are ready and offered as ApplyGpuSettings says."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from lamplighter import clock
from lamplighter.adapters.kubernetes import nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.claims import note_claims
from lamplighter.application.cluster.images import bring_ahead
from lamplighter.application.cluster.nodes import not_offered_because
from lamplighter.application.cluster.run import Run, latest
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.gpu import readiness
from lamplighter.domain.gpu.boot import boot
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.leases.progress import Stage, share
from lamplighter.domain.pool.drain import NOTES
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from lamplighter.lab.pools import Pool
from lamplighter.reasons.document import document, read
from lamplighter.reasons.fields import from_odd_document
from lamplighter.reasons.reason import reason, several
from lamplighter.values import instant

# From launch to proven GPUs takes 4 to 8 minutes with the operator; GPUs that take 15 minutes will not come.
PATIENCE = timedelta(minutes=15)
# After that time GPUs are late: the ready ones are proven and announced with the cause, and the others waited for.
LATE = timedelta(minutes=8)
REASONS = 2
"""The number of reasons kept of a node that is not ready: a run's state has room for hundreds of nodes."""


def await_gpus(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """The nodes whose GPUs are ready; once the time is up also the nodes that are not ready, and why.

    Raises TryLater until all nodes that came are ready, or PATIENCE is over. PATIENCE counts from the last launch, or
    from the instant when nodes that were there were labelled anew. Once GPUs are LATE it returns once in between, so
    that the workflow announces why, and calls it again.
    """
    if over := run.over():
        return {"nodes": [], "not_ready": [], "over": True, "reason": document(over)}
    wanted = run.found("AwaitNodes", "instances")
    here = {node.instance: node for node in nodes.pool_nodes(connection, identity(lab, run.pool).selector)}
    stack = _stack(run, lab, connection)
    offer = from_odd_document(Offer, run.result("ApplyGpuSettings").get("offer"))
    ready: list[dict[str, object]] = []
    waiting: list[dict[str, object]] = []
    set_up: list[NodeFacts] = []
    for instance in (str(row.get("id")) for row in wanted):
        node = here.get(instance)
        if node is None:
            waiting.append({"name": instance, "why": document(reason("gpu.not-joined"))})
            continue
        node = _staying(node, connection)
        unmet = readiness.not_ready_because(
            node,
            _gpus(node, lab, run),
            stack,
            slices=offer.slices,
            replicas=offer.replicas,
            efa=_efa(node, lab.pools[run.pool]),
        )
        unmet += not_offered_because(node, offer, connection, discovery=stack.on(node).discovery)
        if unmet:
            waiting.append({"name": node.name, "why": document(several(unmet, most=REASONS))})
            set_up.append(node)
        else:
            if not node.protected:
                # A Cluster Autoscaler removes nodes that are ready and not in use yet.
                nodes.protect(connection, node.name)
            ready.append({"name": node.name, "instance": instance, "gpus": node.gpus, "ready": True})
    bring_ahead(set_up, run, lab, connection)
    validators = stack.validators if stack.kind == "operator" else None
    run.note_boot(boot(_fresh(run), list(here.values()), validators, _nodes(run)))
    note_claims(run, lab, connection)
    run.note(Stage.GPUS, *_own_gpus(run, lab, len(ready)))
    since = latest(
        [*(row.get("launched") for row in wanted), run.result("ApplyGpuSettings").get("told")]
        if wanted
        else []
    )
    if not waiting or (since is not None and clock.now() >= since + PATIENCE):
        return {"nodes": ready, "not_ready": waiting, "late": False}
    announced = run.result("AwaitGpus").get("late") is True
    if since is None or clock.now() < since + LATE or announced:
        raise TryLater(
            several([reason("gpu.node", node=str(row["name"]), why=read(row["why"])) for row in waiting])
        )
    return {"nodes": ready, "not_ready": waiting, "late": True}


def _own_gpus(run: Run, lab: Lab, ready: int) -> tuple[int, int]:
    """How many GPUs the lease has, where `ready` nodes of the pool are ready, and how many it shall have."""
    nodes, awaited = _nodes(run), run.result("AwaitNodes")
    wanted = awaited.get("wanted")
    if awaited.get("with_pods") and isinstance(wanted, int):
        # Pods bring the others.
        nodes = min(nodes, wanted)
    kind = gpu_type(lab.pools[run.pool].instance_type)
    each = kind.count if kind else 1
    return share(nodes, ready, wanted if isinstance(wanted, int) else nodes) * each, nodes * each


def _nodes(run: Run) -> int:
    """The number of nodes of the lease."""
    admitted = _mapping(run.result("Admit").get("lease")).get("nodes")
    return admitted if isinstance(admitted, int) else len(run.found("AwaitNodes", "instances"))


def _fresh(run: Run) -> dict[str, datetime]:
    """The instances that were launched since the lease opened, and when."""
    opens = _mapping(run.result("Admit").get("lease")).get("opens")
    launched = {
        str(each.get("id")): instant.read(str(each["launched"]))
        for each in run.found("AwaitNodes", "instances")
        if each.get("launched")
    }
    return {name: at for name, at in launched.items() if opens is None or at >= instant.read(str(opens))}


def _gpus(node: NodeFacts, lab: Lab, run: Run) -> int | None:
    known = gpu_type(node.instance_type or lab.pools[run.pool].instance_type)
    return known.count if known else None


def _efa(node: NodeFacts, pool: Pool) -> int:
    known = gpu_type(node.instance_type or pool.instance_type)
    return known.efa if known and pool.efa else 0


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _stack(run: Run, lab: Lab, connection: Connection) -> readiness.GpuSignals:
    """What announces the pool's GPUs. Where the expected operator is absent, only allocatable GPUs count."""
    kind = lab.gpu_stack(run.pool)
    if kind != "operator":
        return readiness.GpuSignals(kind, discovery=lab.discovers(run.pool))
    if run.result("ApplyGpuSettings").get("state") == "absent":
        return readiness.GpuSignals("built-in", discovery=False)
    return readiness.GpuSignals(validators=pods.labelled(connection, readiness.VALIDATOR_LABEL))


def _staying(node: NodeFacts, connection: Connection) -> NodeFacts:
    """The node; where an ending lease has begun to empty it, it stays for this lease, and TryLater is raised."""
    if not node.cordoned or not any(note in node.annotations for note in NOTES):
        return node
    nodes.uncordon(connection, node.name, NOTES)
    raise TryLater(reason("gpu.node-stays", node=node.name))
