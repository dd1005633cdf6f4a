"""The guard's steps in CloseLab: ProveZero, MarkLeaked, and ending EKS's own wait once a node is empty.

Closed means proven: nothing in EC2, the group, EKS and Kubernetes. What cannot be read proves nothing.
"""

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.application.capacity.services import PoolReading
from lamplighter.application.guard import announcements as guard_says
from lamplighter.application.guard.kubernetes import node_names
from lamplighter.application.guard.services import GuardServices
from lamplighter.application.run import drained, pool_of, result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.guard.breach import Action, Rule
from lamplighter.domain.notices import notification
from lamplighter.domain.pool.drain import LEAVING, PATIENCE, emptying
from lamplighter.domain.pool.evidence import GroupMember, ScalingGroup
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.values import instant

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection
    from lamplighter.domain.pool.nodes import NodeFacts

_logger = logging.getLogger(__name__)

PROOF_PATIENCE = timedelta(minutes=30)
"""After that long without proof the pool is leaked."""


def prove_zero(run: Mapping[str, object], guard_services: GuardServices) -> dict[str, object]:
    """Step ProveZero: what this close had to take is gone. TryLater until then, `zero: false` after 30 minutes.

    With other leases in force the proof is that no more than their nodes are left.
    """
    capacity = guard_services.capacity
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    seen = capacity.see(pool)
    target = capacity.target(pool, seen.nodegroup)
    end_drains(guard_services, pool, seen.group, drained(run) if target.nodes else None)
    nodes = node_names(guard_services, pool)
    desired = seen.group.desired if seen.group else 0
    left = _left(seen, nodes, target.nodes)
    document: dict[str, object] = {
        "zero": left is None,
        "target": target.nodes,
        "at": instant.written(now),
        "desired": desired,
        "instances": [instance.id for instance in seen.existing],
        "kubernetes_nodes": list(nodes or ()),
        "reason": left or _proven(pool, target.nodes),
    }
    if left is None:
        # Said at the end of the look: from here on, whoever looks sees it too.
        _note(guard_services, pool, run, capacity.now(), target.nodes)
        return document
    ordered = result(run, "Scale").get("at")
    since = instant.read(str(ordered)) if ordered else instant.read(str(_command(run)["issued"]))
    if now - since < PROOF_PATIENCE:
        raise TryLater(f"pool {pool} is not at {target.nodes or 'zero'} yet: {left}")
    return document


def mark_leaked(run: Mapping[str, object], guard_services: GuardServices) -> dict[str, object]:
    """Step MarkLeaked: the pool should be at zero and is not; the guard closes it again and pages from here."""
    capacity = guard_services.capacity
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    seen = capacity.see(pool)
    target = capacity.target(pool, seen.nodegroup)
    why = _left(seen, node_names(guard_services, pool), target.nodes)
    if target.nodes or why is None:
        return {"leaked": False, "since": None, "reason": why or _proven(pool, target.nodes)}
    if capacity.ledger.mark_leaked(pool, now, why):
        reason = f"pool {pool} should be at zero and is not: {why}"
        capacity.ledger.append_audit(
            Entry(
                at=now,
                pool=pool,
                kind="leaked",
                who="guard",
                what=f"pages about pool {pool}",
                why=reason,
                details={"rule": Rule.LEAKED.value, "action": Action.PAGE.value, "paged": "yes"},
            )
        )
        guard_services.pages.say(
            notification.of(capacity.lab.name, pool, guard_says.of_leak(capacity.lab, pool, reason))
        )
    since = capacity.ledger.pool(pool).leaked_since or now
    return {"leaked": True, "since": instant.written(since), "reason": why}


def end_drains(
    guard_services: GuardServices, pool: str, group: ScalingGroup | None, only: Collection[str] | None = None
) -> list[str]:
    """End EKS's wait for every leaving node that is empty, or has had its time; the rest is asked to go.

    With `only`, for these instances alone: others may leave for reasons that leases have nothing to do with.
    """
    members = group.members if group else ()
    waiting = [each for each in members if each.waits_for_drain and (only is None or each.instance in only)]
    if group is None or not waiting:
        return []
    connection = guard_services.kubernetes()
    nodes = _nodes(guard_services, pool, connection)
    ended: list[str] = []
    for member in waiting:
        if _may_end(guard_services, group, member, connection, nodes):
            guard_services.capacity.autoscaling.end_drain(group.name, member.instance)
            ended.append(member.instance)
    return ended


def _nodes(
    guard_services: GuardServices, pool: str, connection: "Connection | None"
) -> "dict[str, NodeFacts] | None":
    from lamplighter.adapters.kubernetes.nodes import pool_nodes  # noqa: PLC0415 -- only while draining

    if connection is None:
        return None
    try:
        found = pool_nodes(connection, guard_services.capacity.lab.nodegroup_name(pool))
    except OutsideFailed as error:
        _logger.warning("drains are ended without Kubernetes: %s", error)
        return None
    return {node.instance: node for node in found}


def _may_end(
    guard_services: GuardServices,
    group: ScalingGroup,
    member: GroupMember,
    connection: "Connection | None",
    nodes: "dict[str, NodeFacts] | None",
) -> bool:
    from lamplighter.adapters.kubernetes import evictions, pods  # noqa: PLC0415 -- only while draining
    from lamplighter.adapters.kubernetes.nodes import cordon  # noqa: PLC0415

    now = guard_services.capacity.now()
    if connection is None or nodes is None:
        since = _leaving_since(guard_services, group, member)
        return since is not None and now - since >= PATIENCE
    node = nodes.get(member.instance)
    if node is None:
        return True
    said = node.annotations.get(LEAVING)
    if said is None:
        cordon(connection, node.name, {LEAVING: instant.written(now)})
    work = emptying(pods.on_node(connection, node.name))
    if work.empty or (said is not None and now - instant.read(said) >= PATIENCE):
        return True
    for pod in work.evict:
        evictions.evict(connection, pod)
    return False


def _leaving_since(
    guard_services: GuardServices, group: ScalingGroup, member: GroupMember
) -> datetime | None:
    for activity in guard_services.capacity.autoscaling.activities(group.name):
        if not activity.launches and member.instance in activity.description:
            return activity.started
    return None


def _left(seen: PoolReading, nodes: tuple[str, ...] | None, target: int) -> str | None:
    """What speaks against the proof, or None."""
    if nodes is None:
        return "Kubernetes could not be asked"
    desired = max(seen.group.desired if seen.group else 0, seen.nodegroup.desired if seen.nodegroup else 0)
    if desired > target:
        return f"{desired} nodes are still ordered"
    if len(seen.existing) > target:
        return f"{', '.join(instance.id for instance in seen.existing)} still in EC2"
    if seen.group is not None and len(seen.group.members) > target:
        return f"{', '.join(member.instance for member in seen.group.members)} still in the group"
    if len(nodes) > target:
        return f"{', '.join(nodes)} still in Kubernetes"
    return None


def _proven(pool: str, target: int) -> str:
    if target:
        return f"pool {pool} has no more than the {target} nodes that other leases justify"
    return f"pool {pool} has no instance, no node and no order"


def _note(
    guard_services: GuardServices, pool: str, run: Mapping[str, object], now: datetime, target: int
) -> None:
    command = _command(run)
    lease = command.get("lease")
    guard_services.capacity.ledger.append_audit(
        Entry(
            at=now,
            pool=pool,
            kind="zero-proven",
            who="guard",
            what=f"proved pool {pool} at {target or 'zero'}",
            why=_proven(pool, target),
            lease=str(lease) if lease else None,
            nodes=target,
        )
    )
    if target == 0:
        guard_services.capacity.ledger.clear_leaked(pool)


def _command(run: Mapping[str, object]) -> Mapping[str, object]:
    command = run.get("command")
    return command if isinstance(command, Mapping) else {}
