"""Step Drain: empties the nodes that no lease justifies once this lease is over.

It cordons nodes and evicts pods; PodDisruptionBudgets are respected for a bounded time. Then it deletes the pods, and
names them. The time of the start is an annotation of the node, so every later try has it. Where a pool gives its pods
more time than this step has, it asks them once, and leaves the rest to the pool's controller.
"""

from datetime import datetime

from lamplighter import clock
from lamplighter.adapters.kubernetes import evictions, nodes, pods
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.adapters.kubernetes.evictions import Eviction
from lamplighter.application.cluster.run import Run
from lamplighter.application.cluster.validate import clean_up
from lamplighter.domain.calendar.changes import paused_at
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.pool import shrink
from lamplighter.domain.pool.drain import (
    EVICTED,
    FORCED_GRACE_SECONDS,
    LEAVING,
    emptying,
    left_to_the_controller,
    patience,
)
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.domain.pool.target import due, target_at
from lamplighter.domain.schedules.of_leases import held_back, unopened
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from lamplighter.values.whole_number import whole_number

FORCED_NAMED = 50
"""The number of force-deleted pods that the result names: a run's state has room for no more."""


def drain(run: Run, lab: Lab, connection: Connection) -> dict[str, object]:
    """The nodes that are empty and may leave. Raises TryLater while pods may still end by themselves."""
    if run.lease:
        clean_up(connection, run.lease)
    here = nodes.pool_nodes(connection, identity(lab, run.pool).selector)
    leaving = going(run, lab, connection, here, clock.now())
    given = lab.pools[run.pool].drain
    evicted, forced, waiting = 0, list[str](), list[str]()
    for node in leaving:
        began = _begun(connection, node)
        accepted, left = _ask(connection, node)
        total = (whole_number(node.annotations.get(EVICTED)) or 0) + accepted
        evicted += total
        if accepted:
            nodes.cordon(connection, node.name, {EVICTED: str(total)})
        if not left or left_to_the_controller(given):
            continue
        if clock.now() < began + patience(given):
            waiting += left
        else:
            forced += left
    if waiting:
        raise TryLater(reason("gpu.pods-still-end", pods=tuple(waiting), count=len(waiting)))
    for called in forced:
        namespace, _, name = called.partition("/")
        pods.delete(connection, namespace, name, grace_seconds=FORCED_GRACE_SECONDS)
    rows = [{"name": node.name, "instance": node.instance} for node in leaving]
    named = {"forced": forced[:FORCED_NAMED], "forced_more": max(0, len(forced) - FORCED_NAMED)}
    return {"nodes": rows, "evicted": evicted, **named}


def going(run: Run, lab: Lab, connection: Connection, here: list[NodeFacts], at: datetime) -> list[NodeFacts]:
    """The nodes that the other leases do not justify at an instant; nodes that began to leave come first.

    The guard ends nodes that were started beside the group. A node that leaves the group is not emptied here, and no
    lease's node is emptied instead of it.
    """
    others = [lease for lease in run.leases() if lease.id != run.lease]
    most = lab.pools[run.pool].max_nodes or len(here)
    # A lease that a pause keeps from opening needs no node. Pauses are read only where a lease waits to open.
    pauses = run.pauses() if any(unopened(lease) and lease.opens <= at for lease in others) else []
    held = held_back(others, pauses, at)
    there = [lease for lease in others if lease.id not in held]
    # A lease that is being admitted right now counts: its nodes stay.
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
    # In the order of the choice: where only the first node can be ended, it is the one without work.
    by_name = {node.name: node for node in staying}
    return leaving + [by_name[choice.node.name] for choice in chosen]


def _shrinkable(connection: Connection, node: NodeFacts) -> shrink.ShrinkNode:
    holding = [pod for pod in pods.on_node(connection, node.name) if pod.gpus and not pod.finished]
    leases = frozenset(pod.labels.get(checks.LEASE_LABEL, "") for pod in holding)
    return shrink.ShrinkNode(node.name, node.instance, node.zone, node.created, leases)


def _begun(connection: Connection, node: NodeFacts) -> datetime:
    """When the node began to leave; where it had not, it begins now."""
    began = instant.foreign(node.annotations.get(LEAVING))
    if began and node.cordoned:
        return began
    now = clock.now()
    nodes.cordon(connection, node.name, {LEAVING: instant.written(now)})
    return now


def _ask(connection: Connection, node: NodeFacts) -> tuple[int, list[str]]:
    """Evict every pod: how many evictions were accepted, and which pods are still there."""
    work = emptying(pods.on_node(connection, node.name))
    answers = {pod.called: evictions.evict(connection, pod) for pod in work.evict}
    accepted = sum(answer is Eviction.ACCEPTED for answer in answers.values())
    left = [called for called, answer in answers.items() if answer is not Eviction.GONE]
    return accepted, left + [pod.called for pod in work.ending]
