"""The guard: compares what a pool's leases justify with what really runs, and says what is wrong.

Level-triggered and pure: a sweep's facts give breaches, each with its rule, its reason and what is to
be done. It may shrink, never grow, and never takes a node that a lease justifies. Doing it is left to
handlers/guard.py; in watch mode a breach is said and nothing is done.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.breach import Action, Breach, Rule
from lamplighter.domain.capacity import Group, Instance, NodeGroup, Update
from lamplighter.domain.incident import Incident, next_page, retry_after
from lamplighter.domain.instant import clock_time
from lamplighter.domain.lease import Lease, LeaseState
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.target import Target, target_at

CLOSING_PATIENCE = timedelta(minutes=10)
"""How long a close that is under way may take to give its order before the guard starts another."""
UPDATE_PATIENCE = timedelta(minutes=15)
"""How long EKS may be at an update of its own before the guard stops waiting for it."""
STRAY_PATIENCE = timedelta(minutes=2)
"""A new instance may be in EC2 before its group lists it."""
END_PATIENCE = timedelta(minutes=2)
"""A close schedule fires within 60 s after its minute."""
OURS = frozenset({Action.PAGE, Action.RECOVER, Action.REARM, Action.DISARM})
"""What is done in watch mode too: a lease there needs its failsafe, and no node is touched."""
FAILSAFE_MARGIN = timedelta(seconds=90)
"""What is due sooner is about to fire; Scheduler would refuse to move it into the past."""


@dataclass(frozen=True)
class PoolFacts:
    """All that one sweep knows of one pool; `None` where it could not be read or is not there."""

    pool: str
    now: datetime
    enforcing: bool
    ours: bool
    max_nodes: int
    leases: tuple[Lease, ...]
    closing_since: datetime | None
    nodegroup: NodeGroup | None
    rolling: Update | None
    group: Group | None
    instances: tuple[Instance, ...]
    kubernetes_nodes: tuple[str, ...] | None
    failsafe_wanted: tuple[Schedule, ...]
    failsafe_found: tuple[Schedule, ...]
    incident: Incident | None = None

    @property
    def target(self) -> Target:
        """What the leases justify now."""
        return target_at(self.leases, self.now, self.max_nodes)

    @property
    def staying(self) -> int:
        """Nodes that run or are ordered, less those that are leaving already."""
        return max(self.group.desired, len(self.group.staying)) if self.group else 0

    @property
    def strays(self) -> tuple[Instance, ...]:
        """Instances with the pool's tags that its group does not list."""
        listed = {member.instance for member in self.group.members} if self.group else set()
        return tuple(
            instance
            for instance in self.instances
            if instance.alive and instance.id not in listed and self.now - instance.launched >= STRAY_PATIENCE
        )

    @property
    def empty(self) -> bool:
        """Proven zero: nothing in EC2, the group, EKS and Kubernetes. What was not read proves nothing."""
        return (
            not any(instance.exists for instance in self.instances)
            and (self.group is None or (self.group.desired == 0 and not self.group.members))
            and (self.nodegroup is None or self.nodegroup.desired == 0)
            and self.kubernetes_nodes == ()
        )


def sweep(facts: PoolFacts) -> tuple[Breach, ...]:
    """Everything that is wrong with the pool, most urgent first."""
    found = [
        *_leases_past_their_end(facts),
        *_surplus(facts),
        *_strays(facts),
        *_failsafe(facts),
        *_sizes(facts),
        *_leak(facts),
    ]
    if facts.enforcing:
        return tuple(found)
    return tuple(_only_said(breach) for breach in found)


def _leases_past_their_end(facts: PoolFacts) -> Iterator[Breach]:
    for lease in facts.leases:
        if not lease.granted or facts.now < lease.closes + END_PATIENCE:
            continue
        yield Breach(
            Rule.LEASE_PAST_ITS_END,
            f"{lease.called()} on pool {facts.pool} ended at {clock_time(lease.closes)} "
            "and nothing is closing it",
            Action.CLOSE,
            lease=lease.id,
            target=facts.target.nodes,
        )


def _surplus(facts: PoolFacts) -> Iterator[Breach]:
    target = facts.target
    if facts.staying <= target.nodes or _waited_for(facts):
        return
    nodes = _count(facts.staying)
    if target.nodes:
        yield Breach(
            Rule.MORE_NODES_THAN_LEASES,
            f"pool {facts.pool} has {nodes}, {facts.staying - target.nodes} more than its leases justify: "
            f"{target.reason}",
            Action.CLOSE,
            target=target.nodes,
        )
        return
    yield Breach(
        Rule.NODE_WITHOUT_LEASE,
        f"pool {facts.pool} has {nodes} and no lease{_last_end(facts)}",
        Action.CLOSE,
        target=0,
    )


def _waited_for(facts: PoolFacts) -> bool:
    """Whether somebody is at it already, so that another order would only fight theirs."""
    if facts.closing_since is not None and facts.now - facts.closing_since < CLOSING_PATIENCE:
        return True
    if any(facts.now >= lease.closes and lease.granted for lease in facts.leases):
        return True
    if facts.nodegroup is not None and facts.nodegroup.status in {"CREATING", "DELETING"}:
        return True
    rolling = facts.rolling
    return (
        rolling is not None
        and rolling.in_progress
        and (rolling.created is None or facts.now - rolling.created < UPDATE_PATIENCE)
    )


def _last_end(facts: PoolFacts) -> str:
    ended = [lease for lease in facts.leases if lease.closes <= facts.now and lease.opens < lease.closes]
    if not ended:
        return ""
    last = max(ended, key=lambda lease: lease.closes)
    return f"; {last.called()} ended at {clock_time(last.closes)}"


def _strays(facts: PoolFacts) -> Iterator[Breach]:
    """Only what is surplus even when every node in the group is counted first."""
    surplus = facts.staying + len(facts.strays) - facts.target.nodes
    taken = tuple(stray.id for stray in facts.strays)[: max(0, surplus)]
    if taken:
        yield Breach(
            Rule.STRAY_INSTANCE,
            f"{', '.join(taken)}: carries the tags of pool {facts.pool}, is not in its group, "
            "and no lease justifies it",
            Action.TERMINATE,
            target=facts.target.nodes,
            instances=taken,
        )


def _failsafe(facts: PoolFacts) -> Iterator[Breach]:
    found = {schedule.name: schedule for schedule in facts.failsafe_found}
    if not facts.failsafe_wanted:
        if found and facts.empty and not any(_unfinished(lease) for lease in facts.leases):
            yield Breach(
                Rule.FAILSAFE_LEFT,
                f"pool {facts.pool} is at zero without a lease and still has a failsafe armed",
                Action.DISARM,
            )
        return
    if facts.staying == 0 and not facts.strays:
        return
    soon = facts.now + FAILSAFE_MARGIN
    for wanted in facts.failsafe_wanted:
        armed = found.get(wanted.name)
        if wanted.at <= soon or armed == wanted:
            continue
        fault = _fault(wanted, armed)
        yield Breach(
            Rule.FAILSAFE_WRONG,
            f"the failsafe {wanted.name} of pool {facts.pool} {fault}, due at {clock_time(wanted.at)}",
            Action.REARM,
        )
        return


def _fault(wanted: Schedule, armed: Schedule | None) -> str:
    if armed is None:
        return "is missing"
    if armed.at > wanted.at:
        return f"is late, at {clock_time(armed.at)}"
    if armed.at < wanted.at:
        return f"is early, at {clock_time(armed.at)}"
    return "does something else than bring the pool to zero"


def _sizes(facts: PoolFacts) -> Iterator[Breach]:
    nodegroup = facts.nodegroup
    if not facts.ours or nodegroup is None or _waited_for(facts):
        return
    drift: list[str] = []
    if nodegroup.minimum > 0:
        drift.append(f"minimum {nodegroup.minimum} instead of 0")
    if nodegroup.maximum > facts.max_nodes and nodegroup.desired <= facts.max_nodes:
        drift.append(f"maximum {nodegroup.maximum} instead of {facts.max_nodes}")
    if drift:
        yield Breach(
            Rule.SIZES_CHANGED,
            f"somebody changed the sizes of pool {facts.pool}: {' and '.join(drift)}",
            Action.RESTORE_SIZES,
        )


def _leak(facts: PoolFacts) -> Iterator[Breach]:
    incident = facts.incident
    if incident is None:
        return
    if facts.empty or facts.target.nodes:
        why = "is at zero" if facts.empty else "is leased again"
        yield Breach(Rule.NO_LONGER_LEAKED, f"pool {facts.pool} {why}, no longer leaked", Action.RECOVER)
        return
    since = clock_time(incident.since)
    if facts.now >= next_page(incident):
        yield Breach(
            Rule.LEAKED,
            f"pool {facts.pool} should be at zero since {since} and is not: {_left(facts)}",
            Action.PAGE,
        )
    if incident.closed_at is None or facts.now - incident.closed_at >= retry_after(incident.tries):
        yield Breach(
            Rule.LEAKED,
            f"pool {facts.pool} is leaked since {since} and is closed again, try {incident.tries + 1}",
            Action.CLOSE,
            target=0,
        )


def _left(facts: PoolFacts) -> str:
    left = [instance.id for instance in facts.instances if instance.exists]
    if left:
        return f"{', '.join(left)} still in EC2"
    if facts.group is not None and facts.group.desired:
        return f"its group still wants {_count(facts.group.desired)}"
    if facts.kubernetes_nodes is None:
        return "Kubernetes could not be asked"
    return f"{', '.join(facts.kubernetes_nodes) or 'an order'} still there"


def _only_said(breach: Breach) -> Breach:
    if breach.action in OURS:
        return breach
    return Breach(
        breach.rule,
        f"{breach.reason}; watching only, so nothing is done (would {breach.action.value})",
        Action.SAY,
        breach.lease,
        breach.target,
        breach.instances,
    )


def _unfinished(lease: Lease) -> bool:
    return lease.granted or lease.state is LeaseState.CLOSING


def _count(nodes: int) -> str:
    return f"{nodes} node{'' if nodes == 1 else 's'}"
