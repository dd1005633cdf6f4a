"""What a sweep reads from Kubernetes: the pool's nodes, which pods hold a GPU of them, and whether a GPU is busy.

A sweep reads it only where it matters, and goes on where Kubernetes does not answer. The ledger keeps how long a pool
has been idle and how many of its GPUs are in use.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.application.guard.services import GuardServices
from lamplighter.data.instance_types import gpu_type
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.granting.idleness import idle_since
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.pool.pool import PoolState, SeenGpus
from lamplighter.errors import OutsideFailed, TryLater

if TYPE_CHECKING:
    from lamplighter.domain.gpu.gpu_use import NodeReading
    from lamplighter.domain.pool.nodes import NodeFacts, PodFacts


EXPORTER_SECONDS = 30.0
"""So long one sweep may wait for exporters, slow ones and silent ones together: the pools need the rest of its time."""


def with_kubernetes(guard_services: GuardServices, facts: PoolFacts, state: PoolState) -> PoolFacts:
    """The facts with the pool's nodes in Kubernetes and since when it is idle; without where it does not answer."""
    nodes = pool_nodes(guard_services, facts.pool)
    if nodes is None:
        if not _runs(facts):
            note_nothing_runs(guard_services, facts, state)
        return replace(facts, kubernetes_nodes=None)
    leased = nodes if facts.target.nodes else ()
    pods = _pods(guard_services, nodes) if facts.target.nodes else None
    held = None if pods is None else [pod for pod in pods if pod.accelerated and not pod.finished]
    if held is not None:
        _note_gpus(guard_services, facts, state, nodes, held)
    return replace(
        facts,
        kubernetes_nodes=tuple(node.name for node in nodes),
        unprotected=tuple(node.name for node in leased if not node.protected and not node.cordoned),
        # A pool that waits for capacity is not idle; an instance that never joined the cluster is.
        idle_since=_idle_since(guard_services, facts, state, nodes, pods, exists=bool(nodes) or _runs(facts)),
    )


def note_nothing_runs(guard_services: GuardServices, facts: PoolFacts, state: PoolState) -> None:
    """Note that a pool without an instance is not idle: a later node is idle from its start at the earliest."""
    if state.idle_since is not None:
        guard_services.capacity.ledger.note_busy(facts.pool, facts.now)


def _runs(facts: PoolFacts) -> bool:
    return bool(facts.seen.alive)


def pool_nodes(guard_services: GuardServices, pool: str) -> "Sequence[NodeFacts] | None":
    """The pool's nodes in Kubernetes, or None where it does not answer."""
    from lamplighter.adapters.kubernetes import nodes  # noqa: PLC0415 -- only where it matters

    connection = guard_services.kubernetes()
    if connection is None:
        return None
    try:
        return nodes.pool_nodes(connection, identity(guard_services.capacity.lab, pool).selector)
    except (OutsideFailed, TryLater) as error:
        guard_services.without_kubernetes(error)
        return None


def node_names(guard_services: GuardServices, pool: str) -> tuple[str, ...] | None:
    """The names of the pool's nodes, or None where Kubernetes does not answer."""
    nodes = pool_nodes(guard_services, pool)
    return None if nodes is None else tuple(node.name for node in nodes)


def _idle_since(
    guard_services: GuardServices,
    facts: PoolFacts,
    state: PoolState,
    nodes: "Sequence[NodeFacts]",
    pods: "Sequence[PodFacts] | None",
    *,
    exists: bool,
) -> datetime | None:
    """Since when no GPU of the pool has been in use, by the lab's own meaning of it.

    None where one is or that is not known, the pool has no node, or no lease ends for being idle.
    """
    limited = [lease for lease in facts.leases if lease.id in facts.idle_after and lease.in_force(facts.now)]
    if pods is None:
        return None
    if facts.idle_by == "gpu":
        in_use = _busy(guard_services, facts, nodes, pods, needed=bool(limited))
    else:
        in_use = any(pod.accelerated and not pod.finished for pod in pods)
    if not limited or in_use is None:
        return None
    ledger = guard_services.capacity.ledger
    since = idle_since(state, facts.now, held=in_use or not exists)
    if since is not None:
        ledger.note_idle(facts.pool, since, facts.now)
    elif state.idle_since is not None:
        ledger.note_busy(facts.pool, facts.now)
    return since


def _note_gpus(
    guard_services: GuardServices,
    facts: PoolFacts,
    state: PoolState,
    nodes: "Sequence[NodeFacts]",
    held: "Sequence[PodFacts]",
) -> None:
    """Note for people how many GPUs their pods hold of how many there are, without the lab's own checks."""
    from lamplighter.domain.checks.ladder import NAMESPACE  # noqa: PLC0415 -- only where nodes are leased

    gpus = sum(node.gpus for node in nodes)
    if not gpus:
        return
    in_use = sum(max(1, pod.gpus) for pod in held if pod.namespace != NAMESPACE)
    seen = SeenGpus(min(in_use, gpus), gpus, facts.now)
    with guard_services.reading(f"pool {facts.pool}, GPUs"):
        guard_services.capacity.ledger.note_gpus(facts.pool, seen, state.seen_gpus)
        _note_seats(guard_services, facts, nodes, seen)


def _note_seats(
    guard_services: GuardServices, facts: PoolFacts, nodes: "Sequence[NodeFacts]", seen: SeenGpus
) -> None:
    """Count the seats that are held for each lease of a window with seats, by its part of the nodes.

    Where a GPU serves other numbers of people than it is offered to pods, pods do not tell the seats.
    """
    lab, ledger, leases = guard_services.capacity.lab, guard_services.capacity.ledger, facts.target.in_force
    seated = [
        lease
        for lease in leases
        if lab.seats_of(lease.window) is not None
        and lab.seats_per_gpu(facts.pool, lease.window) == lab.shares_of_gpu(facts.pool, lease.window)
    ]
    if not seated:
        return
    from lamplighter.domain.billing.gpu_hours import part  # noqa: PLC0415 -- few labs have seats

    gpus = sum(map(_gpus, nodes)) * seen.in_use / seen.of
    for lease in seated:
        mine = part(lease, leases, len(nodes))
        before = ledger.seat_use(facts.pool, lease.id)
        use = before.with_reading(round(seen.in_use * mine), gpus * mine, facts.now)
        if use != before:
            ledger.note_seat_use(lease, use, before)


def _gpus(node: "NodeFacts") -> int:
    known = gpu_type(node.instance_type)
    return known.gpus if known else 1


def _busy(
    guard_services: GuardServices,
    facts: PoolFacts,
    nodes: "Sequence[NodeFacts]",
    pods: "Sequence[PodFacts]",
    *,
    needed: bool,
) -> bool | None:
    """Whether a GPU of these nodes is busy, by the exporter on each; None where it is not known.

    The ledger keeps the reading for the receipts of the leases in force. It is `needed` where it may end one of them.
    """
    from lamplighter.adapters.kubernetes import gpu_metrics  # noqa: PLC0415 -- few labs ask for it
    from lamplighter.domain.gpu.gpu_use import any_busy, busy_gpus  # noqa: PLC0415

    connection, lab = guard_services.kubernetes(), guard_services.capacity.lab
    if connection is None:
        return None
    with guard_services.reading(f"pool {facts.pool}, utilisation", needed=needed):
        exporters = {pod.node: pod for pod in pods if gpu_metrics.is_exporter(pod, lab.exporter_namespace)}
        readings = []
        for node in nodes:
            text = None
            if node.name in exporters and guard_services.waited_for_exporters < EXPORTER_SECONDS:
                with guard_services.waiting_for_exporters():
                    text = gpu_metrics.read(connection, exporters[node.name])
            readings.append((_gpus(node), busy_gpus(text or "")))
        _note_use(guard_services, facts, readings)
        return any_busy(readings)
    return None


def _note_use(guard_services: GuardServices, facts: PoolFacts, readings: "list[NodeReading]") -> None:
    """Count the reading for each lease in force, by its part of the nodes."""
    from lamplighter.domain.billing.gpu_hours import part  # noqa: PLC0415 -- few labs ask for it

    if not any(gpus for _, gpus in readings):
        return
    ledger, leases = guard_services.capacity.ledger, facts.target.in_force
    for lease in leases:
        before = ledger.gpu_use(facts.pool, lease.id)
        use = before.with_reading(readings, part(lease, leases, len(readings)), facts.now)
        if use != before:
            ledger.note_gpu_use(lease, use, before)


def _pods(guard_services: GuardServices, nodes: "Sequence[NodeFacts]") -> "Sequence[PodFacts] | None":
    """The pods on these nodes; None where Kubernetes does not answer."""
    from lamplighter.adapters.kubernetes import pods  # noqa: PLC0415

    connection = guard_services.kubernetes()
    if connection is None:
        return None
    try:
        return [pod for node in nodes for pod in pods.on_node(connection, node.name)]
    except (OutsideFailed, TryLater) as error:
        guard_services.without_kubernetes(error)
        return None
