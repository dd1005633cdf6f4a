"""What one sweep knows of one pool: ledger, EKS, Auto Scaling, EC2, Kubernetes and the failsafe.

Reads and nothing else. Kubernetes is asked only where its answer matters, and may fail to answer.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from handlers.capacity import Capacity, Seen
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.domain.audit import Entry
from lamplighter.domain.breach import Action
from lamplighter.domain.capacity import Group, NodeGroup, Update
from lamplighter.domain.failsafe import failsafe_instant, failsafe_schedules, schedule_names
from lamplighter.domain.guard_facts import CLOSING_PATIENCE, PoolFacts
from lamplighter.domain.incident import Incident
from lamplighter.domain.lease import Lease
from lamplighter.domain.schedule import Schedule
from lamplighter.errors import OutsideFailed

if TYPE_CHECKING:
    from handlers.desk import Desk
    from lamplighter.adapters.kubernetes.connection import Connection

_logger = logging.getLogger(__name__)


@dataclass
class Watch:
    """All that the guard works with, for one lab."""

    desk: "Desk"
    workflows: Workflows
    pages: Notices
    close_lab: str
    connect: Callable[[], "Connection"]

    @property
    def capacity(self) -> Capacity:
        """What is granted, and what runs."""
        return self.desk.capacity

    def kubernetes(self) -> "Connection | None":
        """The cluster, or None where it does not answer."""
        try:
            return self.connect()
        except OutsideFailed as error:
            _logger.warning("the sweep goes on without Kubernetes: %s", error)
            return None


def gather(watch: Watch, pool: str) -> PoolFacts:
    """Everything that the rules ask about a pool; the ledger first, the group before EC2."""
    capacity = watch.capacity
    lab, now = capacity.lab, capacity.now()
    state = capacity.ledger.pool(pool)
    leases = tuple(capacity.ledger.leases(pool))
    seen = capacity.see(pool)
    failsafe = _found_failsafe(watch, pool)
    matters = bool(seen.existing or state.leaked_since or failsafe)
    return PoolFacts(
        pool=pool,
        now=now,
        enforcing=(state.mode or lab.mode(pool)) == "enforce",
        ours=lab.pools[pool].existing is None,
        max_nodes=capacity.max_nodes(pool, seen.nodegroup),
        leases=leases,
        closing_since=_closing_since(capacity.ledger.audit(pool, now - CLOSING_PATIENCE)),
        nodegroup=seen.nodegroup,
        rolling=_rolling(capacity, seen),
        group=seen.group,
        instances=seen.instances,
        kubernetes_nodes=node_names(watch, pool) if matters else (),
        failsafe_wanted=_wanted_failsafe(leases, now, pool, seen.nodegroup, seen.group),
        failsafe_found=failsafe,
        incident=_incident(watch, pool, state.leaked_since),
    )


def _wanted_failsafe(
    leases: Iterable[Lease], now: datetime, pool: str, nodegroup: NodeGroup | None, group: Group | None
) -> tuple[Schedule, ...]:
    """The failsafe that the leases ask for; none without leases or without a group to bring down."""
    first = failsafe_instant(leases, now)
    if first is None or nodegroup is None or group is None:
        return ()
    return failsafe_schedules(pool, first, nodegroup.cluster, nodegroup.name, group.name)


def _found_failsafe(watch: Watch, pool: str) -> tuple[Schedule, ...]:
    """The failsafe that Scheduler has."""
    there = set(watch.desk.failsafes.names(f"failsafe-{pool}-")) & set(schedule_names(pool))
    read = (watch.desk.failsafes.read(name) for name in sorted(there))
    return tuple(schedule for schedule in read if schedule is not None)


def node_names(watch: Watch, pool: str) -> tuple[str, ...] | None:
    """The pool's nodes in Kubernetes, or None where it does not answer."""
    from lamplighter.adapters.kubernetes.nodes import pool_nodes  # noqa: PLC0415 -- only where it matters

    connection = watch.kubernetes()
    if connection is None:
        return None
    try:
        found = pool_nodes(connection, watch.capacity.lab.nodegroup_name(pool))
    except OutsideFailed as error:
        _logger.warning("the sweep goes on without Kubernetes: %s", error)
        return None
    return tuple(node.name for node in found)


def _rolling(capacity: Capacity, seen: Seen) -> Update | None:
    if seen.nodegroup is None or seen.nodegroup.status != "UPDATING" or not seen.alive:
        return None
    return capacity.nodegroups.rolling(seen.nodegroup.name)


def _closing_since(entries: Iterable[Entry]) -> datetime | None:
    """When the close began that has not given its order yet; None when there is no such close."""
    since = None
    for entry in entries:
        # A pool without any lease gets its order from the sweep itself: there is nothing to wait for.
        began = entry.details.get("action") == Action.CLOSE and (entry.lease or entry.nodes)
        if entry.kind == "closing" or began:
            since = entry.at
        elif entry.kind == "scaled":
            since = None
    return since


def _incident(watch: Watch, pool: str, since: datetime | None) -> Incident | None:
    """A leaked pool's history, out of the audit trail."""
    if since is None:
        return None
    entries = watch.capacity.ledger.audit(pool, since)
    closed = [entry.at for entry in entries if entry.details.get("action") == Action.CLOSE]
    pages = sum(1 for entry in entries if entry.details.get("action") == Action.PAGE)
    return Incident(since, closed_at=max(closed, default=None), tries=len(closed), pages=pages)
