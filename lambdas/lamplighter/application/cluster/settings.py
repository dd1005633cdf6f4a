"""Step AwaitGpus: are the GPUs there, and offered as ApplyGpuSettings says; waits for a bounded time."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from lamplighter import clock
from lamplighter.adapters.kubernetes import nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.images import bring_ahead
from lamplighter.application.cluster.nodes import not_offered_because
from lamplighter.application.cluster.run import Run, latest
from lamplighter.domain.gpu import readiness
from lamplighter.domain.gpu.boot import boot
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.leases.progress import Stage, share
from lamplighter.domain.pool.drain import NOTES
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from lamplighter.values import instant
from lamplighter.values.counted import first

# From launch to proven GPUs takes 4 to 8 minutes with the operator; what takes 15 will not come by itself.
PATIENCE = timedelta(minutes=15)
# What is not there by then is late: what came is proven and announced, with the cause, and the rest waited for.
LATE = timedelta(minutes=8)
# Characters of a reason; what a node lacks is told in fewer.
LINE = 240


def await_gpus(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """The nodes whose GPUs are ready; once the time is up also those that are not, and why.

    Raises TryLater until all that came are ready or PATIENCE is over, counted from the last launch, or from
    when nodes that were there were told to offer their GPUs otherwise. Once they are LATE it answers in
    between, for the workflow to say why, and is asked again.
    """
    if over := run.over():
        return {"nodes": [], "not_ready": [], "over": True, "reason": over}
    wanted = run.found("AwaitNodes", "instances")
    here = {node.instance: node for node in nodes.pool_nodes(connection, lab.nodegroup_name(run.pool))}
    stack = _stack(run, lab, connection)
    shall = Offer.from_json(_document(run.result("ApplyGpuSettings").get("offer")))
    ready: list[dict[str, object]] = []
    waiting: list[dict[str, str]] = []
    set_up: list[NodeFacts] = []
    for instance in (str(each.get("id")) for each in wanted):
        node = here.get(instance)
        if node is None:
            waiting.append({"name": instance, "why": "the instance has not joined the cluster as a node"})
            continue
        node = _staying(node, connection)
        why = readiness.not_ready_because(
            node, _gpus(node, lab, run), stack, slices=shall.slices, replicas=shall.replicas
        )
        why += not_offered_because(node, shall, connection, discovery=stack.on(node).discovery)
        if why:
            waiting.append({"name": node.name, "why": _cut("; ".join(why))})
            set_up.append(node)
        else:
            if not node.protected:
                # Ready and not in use yet is just what a Cluster Autoscaler takes away.
                nodes.protect(connection, node.name)
            ready.append({"name": node.name, "instance": instance, "gpus": node.gpus, "ready": True})
    bring_ahead(set_up, run, lab, connection)
    validators = stack.validators if stack.kind == "operator" else None
    run.note_boot(boot(_fresh(run), list(here.values()), validators, _nodes(run)))
    run.note(Stage.GPUS, *_own_gpus(run, lab, len(ready)))
    since = latest(
        [*(each.get("launched") for each in wanted), run.result("ApplyGpuSettings").get("told")]
        if wanted
        else []
    )
    if not waiting or (since is not None and clock.now() >= since + PATIENCE):
        return {"nodes": ready, "not_ready": waiting, "late": False}
    told = run.result("AwaitGpus").get("late") is True
    if since is None or clock.now() < since + LATE or told:
        raise TryLater(first([f"{each['name']}: {each['why']}" for each in waiting]))
    return {"nodes": ready, "not_ready": waiting, "late": True}


def _cut(why: str) -> str:
    """A run's state names every node that is not ready: hundreds have room."""
    return why if len(why) <= LINE else f"{why[: LINE - 1]}…"


def _own_gpus(run: Run, lab: Lab, ready: int) -> tuple[int, int]:
    """The lease's own GPUs, where so many nodes of the pool are ready, and how many it shall have."""
    nodes = _nodes(run)
    wanted = run.result("AwaitNodes").get("wanted")
    kind = gpu_type(lab.pools[run.pool].instance_type)
    each = kind.count if kind else 1
    return share(nodes, ready, wanted if isinstance(wanted, int) else nodes) * each, nodes * each


def _nodes(run: Run) -> int:
    """How many nodes the lease has."""
    admitted = _document(run.result("Admit").get("lease")).get("nodes")
    return admitted if isinstance(admitted, int) else len(run.found("AwaitNodes", "instances"))


def _fresh(run: Run) -> dict[str, datetime]:
    """The instances that were launched since the lease opened: the others were there, and nobody waits for them."""
    opens = _document(run.result("Admit").get("lease")).get("opens")
    launched = {
        str(each.get("id")): instant.read(str(each["launched"]))
        for each in run.found("AwaitNodes", "instances")
        if each.get("launched")
    }
    return {name: at for name, at in launched.items() if opens is None or at >= instant.read(str(opens))}


def _gpus(node: NodeFacts, lab: Lab, run: Run) -> int | None:
    known = gpu_type(node.instance_type or lab.pools[run.pool].instance_type)
    return known.count if known else None


def _document(found: object) -> Mapping[str, object]:
    return found if isinstance(found, Mapping) else {}


def _stack(run: Run, lab: Lab, connection: Connection) -> readiness.GpuSignals:
    """What announces the pool's GPUs; an operator that is expected and not there: what can be allocated decides."""
    kind = lab.gpu_stack(run.pool)
    if kind != "operator":
        return readiness.GpuSignals(kind, discovery=lab.discovers(run.pool))
    if run.result("ApplyGpuSettings").get("state") == "absent":
        return readiness.GpuSignals("built-in", discovery=False)
    return readiness.GpuSignals(validators=pods.labelled(connection, readiness.VALIDATOR_LABEL))


def _staying(node: NodeFacts, connection: Connection) -> NodeFacts:
    """A node that an ending lease had begun to empty, and that this lease needs after all."""
    if not node.cordoned or not any(note in node.annotations for note in NOTES):
        return node
    nodes.uncordon(connection, node.name, NOTES)
    raise TryLater(f"{node.name} was about to leave and stays for this lease")
