"""What one sweep knows of one pool: EKS, Auto Scaling, EC2, the failsafe, the ledger, and Kubernetes.

Reads, and keeps in the ledger how long the pool is over or idle. What costs a call is asked only where a
rule needs it; Kubernetes, Scheduler's list and the claims may fail to answer.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from handlers.capacity import Capacity, Seen
from lamplighter.adapters.aws.claims import Claims
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.workflows import NEVER_STARTED, Workflows
from lamplighter.domain.audit import Entry
from lamplighter.domain.breach import Action, Said
from lamplighter.domain.capacity import Group, NodeGroup, Update
from lamplighter.domain.changes import Pause
from lamplighter.domain.curfew import schedule_names as curfew_names
from lamplighter.domain.failsafe import failsafe_instant, failsafe_schedules, schedule_names
from lamplighter.domain.guard_facts import MEMORY, PoolFacts
from lamplighter.domain.guard_nodes import raised_by
from lamplighter.domain.guard_runs import OPENING_PATIENCE, STARTING_PATIENCE
from lamplighter.domain.incident import Incident
from lamplighter.domain.lease import Lease, LeaseState
from lamplighter.domain.lease_schedules import opens_at, unopened
from lamplighter.domain.overdraft import Overdraft
from lamplighter.domain.pool import PoolState
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.schedule_drift import Listed
from lamplighter.errors import OutsideFailed, TryLater

if TYPE_CHECKING:
    from handlers.desk import Desk
    from lamplighter.adapters.kubernetes.connection import Connection
    from lamplighter.domain.nodes import NodeFacts

_logger = logging.getLogger(__name__)


@dataclass
class Watch:
    """All that the guard works with, for one lab."""

    desk: "Desk"
    workflows: Workflows
    pages: Notices
    notices: Notices
    claims: Claims
    close_lab: str
    open_lab: str
    connect: Callable[[], "Connection"]
    wake_planner: Callable[[], None] = lambda: None
    """Lets the planner run, without waiting for it."""

    @property
    def capacity(self) -> Capacity:
        """What is granted, and what runs."""
        return self.desk.capacity

    kubernetes_silent: bool = False
    """It did not answer in this sweep: waiting for it once is enough, other pools wait for their turn."""

    def kubernetes(self) -> "Connection | None":
        """The cluster, or None where it does not answer."""
        if self.kubernetes_silent:
            return None
        try:
            return self.connect()
        except OutsideFailed as error:
            self.without_kubernetes(error)
            return None

    def without_kubernetes(self, error: Exception) -> None:
        """Go on without it for the rest of the sweep."""
        self.kubernetes_silent = True
        _logger.warning("the sweep goes on without Kubernetes: %s", error)


@dataclass(frozen=True)
class LabFacts:
    """What one sweep reads once for all pools."""

    listed: tuple[Listed, ...] | None = None
    """Every schedule in the lab's group; None where Scheduler did not say."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """By node group: the lab that claims it."""
    pauses: tuple[Pause, ...] | None = None
    """What keeps leases from opening, by people's word; None where the ledger did not say."""
    failures: tuple[str, ...] = ()

    @property
    def schedules(self) -> frozenset[str] | None:
        """Every name in the lab's schedule group; None where Scheduler did not say."""
        return None if self.listed is None else frozenset(one.name for one in self.listed)


def gather_lab(watch: Watch) -> LabFacts:
    """The schedules and the claims; a sweep goes on without what does not answer, and says so."""
    lab = watch.capacity.lab
    watch.kubernetes_silent = False
    failures: list[str] = []
    listed: tuple[Listed, ...] | None = None
    claims: Mapping[str, str] = {}
    try:
        listed = tuple(watch.desk.failsafes.listed())
    except (OutsideFailed, TryLater) as error:
        failures.append(str(error))
    try:
        claims = watch.claims.of([lab.nodegroup_name(pool) for pool in lab.pools])
    except (OutsideFailed, TryLater) as error:
        failures.append(str(error))
    pauses: tuple[Pause, ...] | None = None
    try:
        pauses = tuple(watch.capacity.ledger.pauses())
    except (OutsideFailed, TryLater) as error:
        failures.append(str(error))
    return LabFacts(listed, claims, pauses, tuple(failures))


def gather(watch: Watch, pool: str, lab_facts: LabFacts) -> PoolFacts:
    """Everything that the rules ask about a pool.

    AWS first, the group before EC2, then the ledger: a lease that is granted meanwhile is seen with its
    nodes, and one that begins to close has left its word in the trail, which is read last.
    """
    capacity = watch.capacity
    lab = capacity.lab
    seen = capacity.see(pool)
    state = capacity.ledger.pool(pool)
    leases = tuple(capacity.ledger.leases(pool))
    now = capacity.now()
    trail = capacity.ledger.audit(pool, now - MEMORY)
    wanted = _wanted_failsafe(leases, now, pool, seen.nodegroup, seen.group)
    failsafe = _found_failsafe(watch, pool, wanted, lab_facts)
    claimed = lab_facts.claims.get(lab.nodegroup_name(pool), lab.name)
    facts = PoolFacts(
        pool=pool,
        now=now,
        enforcing=(state.mode or lab.mode(pool)) == "enforce",
        ours=lab.pools[pool].existing is None,
        max_nodes=capacity.max_nodes(pool, seen.nodegroup),
        leases=leases,
        closing_since=_closing_since(trail),
        nodegroup=seen.nodegroup,
        rolling=_rolling(capacity, seen),
        group=seen.group,
        instances=seen.instances,
        kubernetes_nodes=(),
        failsafe_wanted=wanted,
        failsafe_found=failsafe,
        curfew=_curfew(watch, pool, lab_facts),
        incident=_incident(watch, state),
        said=tuple(map(said_of, filter(_is_breach, trail))),
        claimed_by=claimed if claimed != lab.name else None,
        longest_lease=lab.guard.longest_lease,
        idle_after=_idle_after(watch, leases),
        extended_at={entry.lease: entry.at for entry in trail if entry.kind == "extended" and entry.lease},
        opening_ended=_opening_ended(watch, leases, lab_facts.pauses, now),
        overdrafts=_overdrafts(watch, pool, leases, now),
    )
    facts = replace(facts, over_since=_over_since(watch, facts, state), raised_by=_raised_by(capacity, facts))
    if not (seen.existing or state.leaked_since or failsafe):
        return facts
    return _with_kubernetes(watch, facts, state)


def _overdrafts(watch: Watch, pool: str, leases: Iterable[Lease], now: datetime) -> Mapping[str, Overdraft]:
    """Which leases will use up their budget; what cannot be reckoned keeps no other rule from being asked."""
    from handlers.guard_overdrafts import overdrafts  # noqa: PLC0415 -- only the sweep reckons

    try:
        return overdrafts(watch.desk, pool, leases, now)
    except (OutsideFailed, TryLater) as error:
        _logger.warning("the sweep goes on without the running costs of pool %s: %s", pool, error)
        return {}


def _curfew(watch: Watch, pool: str, lab_facts: LabFacts) -> Mapping[str, bool | None]:
    """The rails of the pool's curfew as the listing shows them; none where it has no curfew."""
    if lab_facts.listed is None or watch.capacity.lab.curfew(pool) is None:
        return {}
    enabled = {one.name: one.enabled for one in lab_facts.listed}
    return {name: enabled.get(name) for name in curfew_names(pool)}


def _with_kubernetes(watch: Watch, facts: PoolFacts, state: PoolState) -> PoolFacts:
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
    if not limited or not nodes:
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


def _idle_after(watch: Watch, leases: Iterable[Lease]) -> dict[str, timedelta]:
    from lamplighter.domain.idleness import allowed  # noqa: PLC0415

    found = {lease.id: allowed(lease, watch.capacity.lab) for lease in leases if not lease.kept}
    return {name: length for name, length in found.items() if length is not None}


def _opening_ended(
    watch: Watch, leases: Iterable[Lease], pauses: Sequence[Pause] | None, now: datetime
) -> dict[str, str]:
    """How the runs ended that should have opened these leases by now."""
    found: dict[str, str] = {}
    for lease in leases:
        opening = lease.state in {LeaseState.ADMITTED, LeaseState.OPENING} and lease.ready is None
        # What a pause keeps closed is opened when that is over.
        opens = _opens(lease, pauses, now)
        if not opening or lease.run is None or opens is None:
            continue
        if now < opens + OPENING_PATIENCE or now >= lease.closes:
            continue
        try:
            ended = watch.workflows.ended(watch.open_lab, lease.run)
        except (OutsideFailed, TryLater) as error:
            _logger.warning("how %s is opened is not known: %s", lease.id, error)
            continue
        if ended == NEVER_STARTED and now < lease.opens + STARTING_PATIENCE:
            continue
        if ended is not None:
            found[lease.id] = ended
    return found


def _opens(lease: Lease, pauses: Sequence[Pause] | None, now: datetime) -> datetime | None:
    """When a lease was to open; None while a pause keeps it closed, or while nobody knows."""
    if not unopened(lease):
        return lease.opens
    return None if pauses is None else opens_at(lease, pauses, now)


def _over_since(watch: Watch, facts: PoolFacts, state: PoolState) -> datetime | None:
    """Since when the pool should be at zero and is not, kept from sweep to sweep."""
    if facts.target.nodes or not facts.costly:
        if state.over_since is not None:
            watch.capacity.ledger.note_not_over(facts.pool)
        return None
    if state.over_since is None:
        watch.capacity.ledger.note_over(facts.pool, facts.now)
    return state.over_since or facts.now


def _raised_by(capacity: Capacity, facts: PoolFacts) -> str:
    if facts.group is None or facts.staying <= facts.target.nodes:
        return ""
    return raised_by(facts.nodegroup, facts.group, capacity.autoscaling.activities(facts.group.name))


def _wanted_failsafe(
    leases: Iterable[Lease], now: datetime, pool: str, nodegroup: NodeGroup | None, group: Group | None
) -> tuple[Schedule, ...]:
    """The failsafe that the leases ask for; none without leases or without a group to bring down."""
    first = failsafe_instant(leases, now)
    if first is None or nodegroup is None or group is None:
        return ()
    return failsafe_schedules(pool, first, nodegroup.cluster, nodegroup.name, group.name)


def _found_failsafe(
    watch: Watch, pool: str, wanted: Sequence[Schedule], lab_facts: LabFacts
) -> tuple[Schedule, ...] | None:
    """The failsafe that Scheduler has; None where it did not say."""
    names = {schedule.name for schedule in wanted} | (lab_facts.schedules or set()) & set(
        schedule_names(pool)
    )
    try:
        read = [watch.desk.failsafes.read(name) for name in sorted(names)]
    except (OutsideFailed, TryLater) as error:
        _logger.warning("the sweep goes on without the failsafe of pool %s: %s", pool, error)
        return None
    return tuple(schedule for schedule in read if schedule is not None)


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
        if entry.kind == "closing":
            since = entry.at
        elif began:
            # Started again because it came to nothing: that is no reason to wait anew.
            since = since or entry.at
        elif entry.kind == "scaled":
            since = None
    return since


def _is_breach(entry: Entry) -> bool:
    return "rule" in entry.details


def said_of(entry: Entry) -> Said:
    """An audit entry of an earlier sweep as what it said."""
    details = entry.details
    return Said(
        details["rule"],
        details.get("action", ""),
        entry.lease,
        entry.at,
        paged=details.get("paged") == "yes",
    )


def _incident(watch: Watch, state: PoolState) -> Incident | None:
    """A leaked pool's history, out of the audit trail."""
    since = state.leaked_since
    if since is None:
        return None
    entries = watch.capacity.ledger.audit(state.name, since)
    closed = [entry.at for entry in entries if entry.details.get("action") == Action.CLOSE]
    pages = sum(1 for entry in entries if entry.details.get("action") in {Action.PAGE, Action.MARK_LEAKED})
    return Incident(
        since,
        closed_at=max(closed, default=None),
        tries=len(closed),
        pages=pages,
        silenced_until=state.acked_until,
    )
