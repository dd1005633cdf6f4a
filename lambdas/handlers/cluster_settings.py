"""Steps ApplyGpuSettings and AwaitGpus: are the operator's settings the lab's, and are the GPUs there.

The lab's own settings belong to Helm, so the first step verifies; the second waits, for a bounded time.
"""

from datetime import timedelta

from handlers.cluster_run import Run, latest
from lamplighter import clock
from lamplighter.adapters.kubernetes import cluster_policy, nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain import gpu_settings, readiness
from lamplighter.domain.drain import NOTES
from lamplighter.domain.gpus import gpu_type
from lamplighter.domain.nodes import NodeFacts, PodFacts
from lamplighter.errors import TryLater
from lamplighter.lab import Lab

# From launch to proven GPUs takes 4 to 8 minutes with the operator; what takes 15 will not come by itself.
PATIENCE = timedelta(minutes=15)


def apply_gpu_settings(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """Whether the ClusterPolicy is as the lab has it, and what differs."""
    del run
    policy = cluster_policy.spec(connection)
    if policy is None:
        return {"state": "absent", "differs": []}
    found = gpu_settings.differences(lab.gpu_operator.values, policy) if lab.gpu_operator.enabled else []
    rows = [{"path": each.path, "lab": each.lab, "cluster": each.cluster} for each in found]
    return {"state": "differs" if rows else "as-lab", "differs": rows}


def await_gpus(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """The nodes whose GPUs are ready; once the time is up also those that are not, and why.

    Raises TryLater until all that came are ready or PATIENCE is over, counted from the last launch.
    """
    if over := run.over():
        return {"nodes": [], "not_ready": [], "over": True, "reason": over}
    wanted = run.found("AwaitNodes", "instances")
    here = {node.instance: node for node in nodes.pool_nodes(connection, lab.nodegroup_name(run.pool))}
    validators = _validators(run, lab, connection)
    ready: list[dict[str, object]] = []
    waiting: list[dict[str, str]] = []
    for instance in (str(each.get("id")) for each in wanted):
        node = here.get(instance)
        if node is None:
            waiting.append({"name": instance, "why": "the instance has not joined the cluster as a node"})
            continue
        node = _staying(node, connection)
        why = readiness.not_ready_because(node, _gpus(node, lab, run), validators)
        if why:
            waiting.append({"name": node.name, "why": "; ".join(why)})
        else:
            if not node.protected:
                # Ready and not in use yet is just what a Cluster Autoscaler takes away.
                nodes.protect(connection, node.name)
            ready.append({"name": node.name, "instance": instance, "gpus": node.gpus, "ready": True})
    launched = latest([each.get("launched") for each in wanted])
    if waiting and (launched is None or clock.now() < launched + PATIENCE):
        raise TryLater("; ".join(f"{each['name']}: {each['why']}" for each in waiting))
    return {"nodes": ready, "not_ready": waiting}


def _gpus(node: NodeFacts, lab: Lab, run: Run) -> int | None:
    known = gpu_type(node.instance_type or lab.pools[run.pool].instance_type)
    return known.count if known else None


def _validators(run: Run, lab: Lab, connection: Connection) -> list[PodFacts] | None:
    """None where something built in announces the GPUs, and no operator validates them."""
    built_in = lab.pools[run.pool].ami_type.startswith("BOTTLEROCKET")
    if built_in or run.result("ApplyGpuSettings").get("state") == "absent":
        return None
    return pods.labelled(connection, readiness.VALIDATOR_LABEL)


def _staying(node: NodeFacts, connection: Connection) -> NodeFacts:
    """A node that an ending lease had begun to empty, and that this lease needs after all."""
    if not node.cordoned or not any(note in node.annotations for note in NOTES):
        return node
    nodes.uncordon(connection, node.name, NOTES)
    raise TryLater(f"{node.name} was about to leave and stays for this lease")
