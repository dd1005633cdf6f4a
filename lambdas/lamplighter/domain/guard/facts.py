"""All that one sweep knows of one pool, and what follows from it for more than one rule.

The files beside this one decide what is wrong, a family of rules each. application/guard/facts.py reads the facts
for a sweep; application/guard/preview.py reads fewer, for what enforcing would change.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.domain.capacity.claim import LabClaim
from lamplighter.domain.capacity.evidence import Changing, Instance, Seen
from lamplighter.domain.capacity.kinds import zero
from lamplighter.domain.capacity.unlisted import LISTED_WITHIN
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.domain.experiments.run import ExperimentRun
from lamplighter.domain.guard.breach import EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.incident import Incident
from lamplighter.domain.guard.node_pools.outside_instance import OutsideInstance
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.domain.pool.target import Target, target_at
from lamplighter.domain.schedules.schedule import RunEnd, Schedule
from lamplighter.reasons.reason import Reason

CLOSING_PATIENCE = timedelta(minutes=10)
"""How long a close that is under way may take to order the new size before the guard starts another."""
END_PATIENCE = timedelta(minutes=2)
"""A close schedule runs within 60 s after its minute."""
UNCLOSED_PATIENCE = timedelta(minutes=7)
"""How long after a lease's end the guard waits for its own close; then the guard orders the new size itself."""
UPDATE_PATIENCE = timedelta(minutes=15)
"""How long the guard waits for a change that AWS itself is doing."""
ROLLING_PATIENCE = timedelta(hours=1)
"""The same under a lease: replacing nodes with a drain each takes long, and needs surplus nodes."""
NOTICE = timedelta(minutes=15)
"""How long before an early close the guard warns the people of a lease."""
MEMORY = timedelta(hours=1)
"""How far back a sweep reads what earlier sweeps reported."""


@dataclass(frozen=True)
class PoolFacts:
    """All that one sweep knows of one pool; `None` where it could not be read or does not exist."""

    pool: str
    now: datetime
    enforcing: bool
    ours: bool
    max_nodes: int
    leases: tuple[Lease, ...]
    closing_since: datetime | None
    seen: Seen
    kubernetes_nodes: tuple[str, ...] | None
    failsafe_wanted: tuple[Schedule, ...]
    failsafe_found: tuple[Schedule, ...] | None
    incident: Incident | None = None
    earlier: tuple[EarlierBreach, ...] = ()
    """What sweeps of the last hour reported, oldest first."""
    over_since: datetime | None = None
    """Since when the pool should be at zero and is not."""
    other_claim: LabClaim | None = None
    """The claim on this capacity, where it names another lab."""
    raised_by: Reason | None = None
    """How somebody raised the size above the target, where AWS tells."""
    longest_lease: timedelta | None = None
    idle_since: datetime | None = None
    """Since when no GPU of this pool has been in use; read only where a lease may end for it."""
    idle_after: Mapping[str, timedelta] = field(default_factory=dict)
    """By lease: how long it may be idle; without an entry there is no limit."""
    idle_by: str = "pods"
    """What a GPU in use is: one that a pod holds, or one that is busy (`gpu`)."""
    extended_at: Mapping[str, datetime] = field(default_factory=dict)
    """By lease: when somebody extended it in the last hour. A person who extends a lease means to use it."""
    opening_ended: Mapping[str, RunEnd] = field(default_factory=dict)
    """By lease: how the run that should open it ended, where it did."""
    overdrafts: Mapping[str, Overdraft] = field(default_factory=dict)
    """By lease: when its budget is used up, where that is before its end."""
    curfew: Mapping[str, bool | None] = field(default_factory=dict)
    """By name, whether a schedule of its curfew is on; None for a missing one."""
    held_back: frozenset[str] = frozenset()
    """Leases that a pause keeps from opening although they should be open: they justify no node."""
    unprotected: tuple[str, ...] = ()
    """Leased nodes that a Cluster Autoscaler would remove as idle."""
    outside: tuple[OutsideInstance, ...] = ()
    """GPU instances of the cluster that belong to no pool of the lab; one of its pools has them."""
    controller_faults: tuple[Reason, ...] = ()
    """What is wrong with the controller of the lab's NodePools; one of its pools has them."""
    ends_outside: bool = False
    """Whether the guard may end them: in the lab's own cluster, where it enforces on every pool."""
    experiment: ExperimentRun | None = None
    """The cluster's experiment that is not undone yet, on any pool."""
    instance_types: tuple[str, ...] = ()
    """The types that the lab names, for leases of an older release. Empty where it names none."""
    on_interruption: str = ""
    """What to do when AWS takes a leased Spot node: replace or fewer; empty where the pool has none."""
    prices: Mapping[str, Money] = field(default_factory=dict)
    """Of the types that run, the price of a node for an hour, where it is known."""

    @property
    def target(self) -> Target:
        """What the leases justify now."""
        leases = [lease for lease in self.leases if lease.id not in self.held_back]
        return target_at(leases, self.now, self.max_nodes)

    @property
    def staying(self) -> int:
        """Nodes that run or are ordered, without those that are leaving already."""
        return max(self.seen.size, len(self.seen.staying)) if self.seen.controller else 0

    @property
    def strays(self) -> tuple[Instance, ...]:
        """Instances with the pool's tags that its controller does not list."""
        listed = {member.instance for member in self.seen.members if not member.warm}
        return tuple(
            instance
            for instance in self.seen.alive
            if instance.id not in listed
            and instance.id not in self.seen.unsure
            and self.now - instance.launched >= LISTED_WITHIN
        )

    @property
    def granted_types(self) -> frozenset[str]:
        """The types that the leases in force were granted for; empty without a lease, or where those are not known."""
        types = [lease.instance_types or self.instance_types for lease in self.target.in_force]
        return frozenset().union(*types) if all(types) else frozenset()

    @property
    def of_other_types(self) -> tuple[Instance, ...]:
        """Instances whose type no lease in force was granted for, those included that leave."""
        types = self.granted_types
        return tuple(one for one in self.seen.alive if types and one.type not in types)

    @property
    def costly(self) -> bool:
        """Whether anything that costs money runs or is ordered."""
        return bool(self.staying or self.seen.existing)

    @property
    def zero(self) -> ZeroProof:
        """Law 7: what this sweep proves about the pool being at zero."""
        return zero(self.seen, self.now, self.kubernetes_nodes)

    @property
    def empty(self) -> bool:
        """Whether the pool is proven to be at zero."""
        return self.zero.proven

    @property
    def acting(self) -> bool:
        """Whether the guard also acts on what it finds: not while watching, nor in another lab's pool."""
        return self.enforcing and self.taken_over_by is None

    @property
    def taken_over_by(self) -> str | None:
        """The lab whose deploy claimed this adopted pool.

        A claim counts at a deploy. This lab's deploy made its own, so one that was written over afterwards takes no
        pool from the guard. Nobody takes over a pool that this lab creates: its stack still has it.
        """
        claim = self.other_claim
        return None if claim is None or claim.overwritten or self.ours else claim.lab

    def last_reported(self, rule: Rule, action: GuardAction, lease: str | None = None) -> datetime | None:
        """When a sweep of the last hour last reported this."""
        earlier = [
            breach
            for breach in self.earlier
            if (breach.rule, breach.action, breach.lease) == (rule, action, lease)
        ]
        return earlier[-1].at if earlier else None


def waited_for(facts: PoolFacts) -> bool:
    """Whether something is changing the pool already, so that another order would only conflict with it."""
    if facts.closing_since is not None and facts.now - facts.closing_since < CLOSING_PATIENCE:
        return True
    if any(
        lease.granted and lease.closes <= facts.now < lease.closes + UNCLOSED_PATIENCE
        for lease in facts.leases
    ):
        return True
    change = facts.seen.change
    if change is None or change.kind is Changing.UPDATING:
        return False
    if change.kind is not Changing.REPLACING:
        return True
    patience = ROLLING_PATIENCE if facts.target.nodes else UPDATE_PATIENCE
    return change.since is None or facts.now - change.since < patience
