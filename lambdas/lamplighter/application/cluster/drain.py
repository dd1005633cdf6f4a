"""Step Drain: empties the nodes that no lease will justify once this one is over.

Cordons, evicts with respect for PodDisruptionBudgets up to a bounded time, and names what it had to force.
When it began stands on the node itself, so that any try, however late, knows.
"""

from datetime import datetime

from lamplighter import clock
from lamplighter.adapters.kubernetes import evictions, nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.adapters.kubernetes.evictions import Eviction
from lamplighter.application.cluster.run import Run
from lamplighter.application.cluster.validate import clean_up
from lamplighter.domain.calendar.changes import paused_at
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.pool import shrink
from lamplighter.domain.pool.drain import EVICTED, FORCED_GRACE_SECONDS, LEAVING, PATIENCE, emptying
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.domain.pool.target import due, target_at
from lamplighter.domain.schedules.of_leases import held_back, unopened
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from lamplighter.values import instant

FORCED_NAMED = 50
"""So many pods are named that had to be forced: a run's state has room for no more."""


def drain(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """The nodes that are empty and may go. Raises TryLater while pods may still end by themselves."""
    if run.lease:
        clean_up(connection, run.lease)
    here = nodes.pool_nodes(connection, lab.nodegroup_name(run.pool))
    leaving = going(run, lab, connection, here, clock.now())
    evicted, forced, waiting = 0, list[str](), list[str]()
    for node in leaving:
        began = _begun(connection, node)
        accepted, left = _ask(connection, node)
        evicted += int(node.annotations.get(EVICTED, "0")) + accepted
        if accepted:
            total = int(node.annotations.get(EVICTED, "0")) + accepted
            nodes.cordon(connection, node.name, {EVICTED: str(total)})
        if not left:
            continue
        if clock.now() < began + PATIENCE:
            waiting += left
        else:
            forced += left
    if waiting:
        raise TryLater(f"waiting for {len(waiting)} pods to end: {', '.join(waiting[:5])}")
    for called in forced:
        namespace, _, name = called.partition("/")
        pods.delete(connection, namespace, name, grace_seconds=FORCED_GRACE_SECONDS)
    rows = [{"name": node.name, "instance": node.instance} for node in leaving]
    named = {"forced": forced[:FORCED_NAMED], "forced_more": max(0, len(forced) - FORCED_NAMED)}
    return {"nodes": rows, "evicted": evicted, **named}


def going(run: Run, lab: Lab, connection: Connection, here: list[NodeFacts], at: datetime) -> list[NodeFacts]:
    """The nodes beyond what the other leases justify at an instant; those that began to leave go first.

    What somebody started beside the group is the guard's to end, and what leaves the group goes already: no
    lease's node is emptied in its stead.
    """
    others = [lease for lease in run.leases() if lease.id != run.lease]
    most = lab.pools[run.pool].max_nodes or len(here)
    # What a pause keeps from opening needs no node; it is asked for only where anything waits to open.
    pauses = run.pauses() if any(unopened(lease) and lease.opens <= at for lease in others) else []
    held = held_back(others, pauses, at)
    there = [lease for lease in others if lease.id not in held]
    # A lease whose opening is being decided right now counts: its nodes are kept, not bounced.
    opening = [] if paused_at(pauses, at) else due(others, at)
    wanted = target_at(there, at, most).nodes + sum(lease.nodes for lease in opening)
    if not wanted:
        return here
    if len(here) <= wanted:
        return []
    members = run.staying(lab)
    here = [node for node in here if node.instance in members]
    surplus = max(0, len(here) - wanted)
    leaving = [node for node in here if LEAVING in node.annotations][:surplus]
    staying = [node for node in here if node not in leaving]
    chosen = shrink.choose(
        [_shrinkable(connection, node) for node in staying], surplus - len(leaving), run.lease
    )
    # In the order of the choice: where only the first of them can be ended, it is the one without work.
    by_name = {node.name: node for node in staying}
    return leaving + [by_name[each.node.name] for each in chosen]


def _shrinkable(connection: Connection, node: NodeFacts) -> shrink.ShrinkNode:
    holding = [pod for pod in pods.on_node(connection, node.name) if pod.gpus and not pod.finished]
    leases = frozenset(pod.labels.get(checks.LEASE_LABEL, "") for pod in holding)
    return shrink.ShrinkNode(node.name, node.instance, node.zone, node.created, leases)


def _begun(connection: Connection, node: NodeFacts) -> datetime:
    """When the node began to leave; now, and written on it, where it had not."""
    said = node.annotations.get(LEAVING)
    if said and node.cordoned:
        return instant.read(said)
    now = clock.now()
    nodes.cordon(connection, node.name, {LEAVING: instant.written(now)})
    return now


def _ask(connection: Connection, node: NodeFacts) -> tuple[int, list[str]]:
    """Ask every pod to go: how many were told to, and which are still there."""
    work = emptying(pods.on_node(connection, node.name))
    answers = {pod.called: evictions.evict(connection, pod) for pod in work.evict}
    accepted = sum(answer is Eviction.ACCEPTED for answer in answers.values())
    left = [called for called, answer in answers.items() if answer is not Eviction.GONE]
    return accepted, left + [pod.called for pod in work.ending]
