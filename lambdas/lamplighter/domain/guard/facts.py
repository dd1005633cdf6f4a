"""All that one sweep knows of one pool, and what follows from it for more than one rule.

Which of it is wrong is decided in the files beside this one, a family of rules each; application/guard/facts.py reads
it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.guard.breach import Action, EarlierBreach, Rule
from lamplighter.domain.guard.incident import Incident
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.domain.pool.evidence import Instance, NodeGroup, NodeGroupUpdate, ScalingGroup
from lamplighter.domain.pool.target import Target, target_at
from lamplighter.domain.schedules.schedule import Schedule

CLOSING_PATIENCE = timedelta(minutes=10)
"""How long a close that is under way may take to give its order before the guard starts another."""
END_PATIENCE = timedelta(minutes=2)
"""A close schedule fires within 60 s after its minute."""
UNCLOSED_PATIENCE = timedelta(minutes=7)
"""How long after a lease's end its own close is waited for; then the guard gives the order itself."""
UPDATE_PATIENCE = timedelta(minutes=15)
"""How long EKS may be at an update of its own before the guard stops waiting for it."""
ROLLING_PATIENCE = timedelta(hours=1)
"""The same under a lease: replacing nodes with a drain each takes its time, and surplus is part of it."""
STRAY_PATIENCE = timedelta(minutes=2)
"""A new instance may be in EC2 before its group lists it."""
NOTICE = timedelta(minutes=15)
"""How long before a lease is closed early its people are told."""
MEMORY = timedelta(hours=1)
"""How far back a sweep remembers what it said."""


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
    rolling: NodeGroupUpdate | None
    group: ScalingGroup | None
    instances: tuple[Instance, ...]
    kubernetes_nodes: tuple[str, ...] | None
    failsafe_wanted: tuple[Schedule, ...]
    failsafe_found: tuple[Schedule, ...] | None
    incident: Incident | None = None
    said: tuple[EarlierBreach, ...] = ()
    """What sweeps of the last hour said, oldest first."""
    over_since: datetime | None = None
    """Since when the pool should be at zero and is not."""
    claimed_by: str | None = None
    """The other lab that claims this node group as its own."""
    raised_by: str = ""
    """Who asked for the surplus, as far as the scaling activities say."""
    longest_lease: timedelta | None = None
    idle_since: datetime | None = None
    """Since when no pod has held a GPU of this pool; asked only where a lease is to end for it."""
    idle_after: Mapping[str, timedelta] = field(default_factory=dict)
    """By lease: how long it may be idle; without an entry for ever."""
    extended_at: Mapping[str, datetime] = field(default_factory=dict)
    """By lease: when it was extended in the last hour. Who extends a lease means to use it."""
    opening_ended: Mapping[str, str] = field(default_factory=dict)
    """By lease: how the run that should open it ended, where it did."""
    overdrafts: Mapping[str, Overdraft] = field(default_factory=dict)
    """By lease: when its budget is used up, where that is before its end."""
    curfew: Mapping[str, bool | None] = field(default_factory=dict)
    """By name, whether a rail of its curfew is on; None for one that is gone."""
    held_back: frozenset[str] = frozenset()
    """The leases whose time has come and that a pause keeps from opening: no reason for a node."""
    unprotected: tuple[str, ...] = ()
    """Leased nodes that a Cluster Autoscaler would take as idle."""
    unread: tuple[str, ...] = ()
    """What could not be read or reckoned, and why: the rules that ask it judge without."""
    experiment: ExperimentRun | None = None
    """The cluster's experiment that is not undone yet, on whichever pool."""

    @property
    def target(self) -> Target:
        """What the leases justify now."""
        there = [lease for lease in self.leases if lease.id not in self.held_back]
        return target_at(there, self.now, self.max_nodes)

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
    def costly(self) -> bool:
        """Whether anything is there or ordered that costs money."""
        return bool(self.staying) or any(instance.exists for instance in self.instances)

    @property
    def empty(self) -> bool:
        """Proven zero: nothing in EC2, the group, EKS and Kubernetes. What was not read proves nothing."""
        return (
            not any(instance.exists for instance in self.instances)
            and (self.group is None or (self.group.desired == 0 and not self.group.members))
            and (self.nodegroup is None or self.nodegroup.desired == 0)
            and self.kubernetes_nodes == ()
        )

    @property
    def acting(self) -> bool:
        """Whether what is found is also put right: not while watching, nor in another lab's pool."""
        return self.enforcing and self.claimed_by is None

    def last_said(self, rule: Rule, action: Action, lease: str | None = None) -> datetime | None:
        """When a sweep of the last hour said this last."""
        said = [each for each in self.said if (each.rule, each.action, each.lease) == (rule, action, lease)]
        return said[-1].at if said else None


def waited_for(facts: PoolFacts) -> bool:
    """Whether somebody is at it already, so that another order would only fight theirs."""
    if facts.closing_since is not None and facts.now - facts.closing_since < CLOSING_PATIENCE:
        return True
    if any(
        lease.granted and lease.closes <= facts.now < lease.closes + UNCLOSED_PATIENCE
        for lease in facts.leases
    ):
        return True
    if facts.nodegroup is not None and facts.nodegroup.status in {"CREATING", "DELETING"}:
        return True
    rolling, patience = facts.rolling, ROLLING_PATIENCE if facts.target.nodes else UPDATE_PATIENCE
    return (
        rolling is not None
        and rolling.in_progress
        and (rolling.created is None or facts.now - rolling.created < patience)
    )
