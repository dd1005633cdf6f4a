"""All that one sweep knows of one pool, and what follows from it for more than one rule.

Which of it is wrong is decided in guard_*.py, a family of rules each; reading it is handlers/guard_facts.py's.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.capacity import Group, Instance, NodeGroup, Update
from lamplighter.domain.incident import Incident
from lamplighter.domain.lease import Lease
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.target import Target, target_at

CLOSING_PATIENCE = timedelta(minutes=10)
"""How long a close that is under way may take to give its order before the guard starts another."""
UPDATE_PATIENCE = timedelta(minutes=15)
"""How long EKS may be at an update of its own before the guard stops waiting for it."""
STRAY_PATIENCE = timedelta(minutes=2)
"""A new instance may be in EC2 before its group lists it."""


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


def waited_for(facts: PoolFacts) -> bool:
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


def count(nodes: int) -> str:
    """`1 node`, `2 nodes`."""
    return f"{nodes} node{'' if nodes == 1 else 's'}"
