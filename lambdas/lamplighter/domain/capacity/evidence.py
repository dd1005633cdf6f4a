"""What is seen of a pool, as values that fit every kind of capacity.

Each kind's implementation fills them. The guard, the meter and the steps decide by them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto

from lamplighter.reasons.reason import Reason

ANY_NUMBER = 10_000
"""Instead of a maximum that is not there, or that nobody can read."""


class Part(Enum):
    """A part of what can be seen of a pool. Each costs calls, so a caller names what it needs."""

    SIZE = auto()
    """Whether it exists, its size and bounds, its health, and whether it changes."""
    MEMBERS = auto()
    """What its controller lists."""
    INSTANCES = auto()
    """The instances in EC2 that carry its tags, those that ended in the last hour included."""
    MAKE = auto()
    """What its nodes are made of; only an adopted pool leaves that to AWS."""
    CHANGE = auto()
    """Which change is in progress, where SIZE shows that there is one."""
    LATEST = auto()
    """The latest starts and ends of instances, and who raised the size where they tell."""
    HISTORY = auto()
    """All starts and ends that AWS remembers: the meter needs them."""
    BAR = auto()
    """Its launch bar, where the kind has one. Few functions may read it."""
    INTERRUPTIONS = auto()
    """Which nodes EC2 takes or took away in the last hour, and which their controller ends as unhealthy."""


SIZES = frozenset({Part.SIZE, Part.MEMBERS})
NOW = frozenset({Part.SIZE, Part.MEMBERS, Part.INSTANCES})
"""What runs and what is ordered. The controller is read before the instances."""
SWEPT = NOW | {Part.BAR}
"""What a sweep of the guard judges."""
ENDS_WITHIN = timedelta(seconds=90)
"""How long a controller may take to end a node. Karpenter waits for five seconds, and then for the node's volumes."""


@dataclass(frozen=True)
class HealthIssue:
    """One thing that AWS reports as wrong with a pool, in its own words."""

    code: str
    message: str

    @property
    def text(self) -> str:
        """Code and message in one line."""
        return ": ".join(part for part in (self.code, self.message) if part)


class Changing(Enum):
    """What is being done to the thing that holds a pool's size."""

    CREATING = auto()
    DELETING = auto()
    UPDATING = auto()
    """By an update that was not read further, or that replaces no node."""
    REPLACING = auto()
    """By an update that replaces its nodes: for a while more nodes run than are ordered."""


@dataclass(frozen=True)
class Change:
    """A change in progress. `since` is None where AWS does not say."""

    kind: Changing
    since: datetime | None = None


@dataclass(frozen=True)
class Member:
    """An instance as its controller lists it."""

    instance: str
    zone: str = ""
    leaving: bool = False
    waits_for_drain: bool = False
    """Leaves as soon as somebody says that it is empty."""
    overdue: bool = False
    """The time limit of its end is over, and its controller has had the time to act: perhaps it is dead."""
    warm: bool = False
    """Is in a warm pool beside the others: it does not count towards the size."""


@dataclass(frozen=True)
class Controller:
    """What starts and ends a pool's instances, and lists them. Its size may be newer than the ordered one."""

    name: str
    minimum: int
    maximum: int
    size: int
    members: tuple[Member, ...] = ()
    warm_pool: bool = False
    """Whether it keeps instances ready beside its size: who ends one makes it start another."""
    rebalances: bool = False
    """Whether it replaces a Spot node before EC2 takes it, at a mere recommendation."""

    @property
    def staying(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if not member.leaving and not member.warm)


@dataclass(frozen=True)
class Instance:
    """An EC2 instance with a pool's tags. `ended` is when it stopped costing money, if it has."""

    id: str
    type: str
    zone: str
    state: str
    launched: datetime
    ended: datetime | None
    controller: str | None
    """The controller that started it, by a tag that only AWS can set; None where something else did."""
    private_dns: str
    parked: bool = False
    """Stopped in a warm pool: no running node, but its disk costs money, and its controller starts it again."""

    @property
    def alive(self) -> bool:
        """Whether it costs money, or will soon. Who ends a parked one makes its controller start another."""
        return not self.parked and self.state not in {"terminated", "shutting-down"}

    @property
    def exists(self) -> bool:
        """Whether EC2 still has it: proof of zero needs that none exists."""
        return self.state != "terminated"


@dataclass(frozen=True)
class Activity:
    """A start or an end of an instance, as the controller recorded it. `ended` is None while it goes on."""

    instance: str
    """Empty where a failed start made no instance."""
    launches: bool
    began: datetime
    ended: datetime | None = None
    failed: bool = False
    type: str = ""
    """The type of the instance, where a record has it."""
    zone: str = ""
    """And its zone."""


@dataclass(frozen=True)
class Make:
    """What a pool's nodes are made of, by AWS. What AWS does not say is empty or 0."""

    instance_types: tuple[str, ...] = ()
    """Each may be the type of a node."""
    ami_type: str = ""
    disk_gib: int = 0


@dataclass(frozen=True)
class Claim:
    """A NodeClaim: Karpenter's request for one node, until that node is gone."""

    name: str
    instance: str = ""
    """Empty until an instance was launched for it."""
    node_pool: str = ""
    created: datetime | None = None
    expires: datetime | None = None
    """When its controller replaces the node, whatever runs on it; None for never."""
    zone: str = ""
    leaving: bool = False
    left: datetime | None = None
    """When it was deleted: from then on its controller drains and ends it."""
    grace: timedelta | None = None
    """How long its controller waits for pods after the deletion; None for as long as they stay."""
    ends_at: datetime | None = None
    """When it stops waiting, where the controller or somebody else has set it."""
    limited: bool = False
    """Whether the lab set `ends_at`."""
    stages: Mapping[str, datetime] = field(default_factory=dict)
    """When its conditions became true: Launched, Registered, Initialized, and at its end Drained and so on."""
    trouble: HealthIssue | None = None
    """Why it is not launched, where it says so."""

    @property
    def ends_in_time(self) -> bool:
        """Whether its end has a time limit: without one a pod may hold its node for ever."""
        return self.grace is not None or self.ends_at is not None


class InterruptionCause(StrEnum):
    """Why EC2 takes an instance away, or the controller a node."""

    SPOT = "spot"
    RESERVATION = "reservation"
    UNHEALTHY = "unhealthy"
    STOPPED = "stopped"
    ENDED = "ended"
    REPAIRED = "repaired"
    """The controller judged the node unhealthy."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Interruption:
    """A node that its controller ended because EC2 takes its instance away, or because it is unhealthy."""

    claim: str
    """Where nodes have no claims: the instance."""
    at: datetime
    cause: InterruptionCause


@dataclass(frozen=True)
class Bar:
    """A launch bar as it stands: no node starts at or after `until`, and none at all where that is None."""

    until: datetime | None = None
    unreadable: bool = False
    """Whether a text stands there that is no instant to us. The API server may read one from it."""
    wrong: Reason | None = None
    """That the API server does not follow it, as a dry run showed."""


@dataclass(frozen=True)
class Seen:
    """A pool as it was seen. A part that was not read has its default here."""

    kind: str
    """The kind of its capacity, by which kinds.py finds what proves zero."""
    exists: bool = False
    """Whether the thing exists that a size is ordered at."""
    ordered: int = 0
    """The size that was ordered there."""
    minimum: int = 0
    maximum: int = 0
    change: Change | None = None
    health: tuple[HealthIssue, ...] = ()
    controller: Controller | None = None
    """None where it does not exist: then nobody lists the instances, and no failsafe can be made."""
    instances: tuple[Instance, ...] = ()
    make: Make = Make()
    activities: tuple[Activity, ...] = ()
    """Newest first."""
    bar: Bar | None = None
    """None where the kind has none, or where BAR was not read."""
    claims: tuple[Claim, ...] = ()
    """The claims of a NodePool, with MEMBERS; also those without an instance."""
    interruptions: tuple[Interruption, ...] = ()
    """Oldest first."""
    dynamic: bool = False
    """Whether pods bring its nodes: the size is then the most that may come, and nobody waits for them."""
    unread: bool = False
    """Whether EC2 alone answered: what is ordered, and what its controller lists, is not known."""
    unsure: frozenset[str] = frozenset()
    """Instances that its controller started and does not list, of which it did not say whether they are its own."""
    raised_by: Reason | None = None
    """How somebody raised the size past the order, where AWS tells."""

    @property
    def size(self) -> int:
        """The size that the nodes follow: the controller's, else the ordered one."""
        return self.controller.size if self.controller else self.ordered

    @property
    def members(self) -> tuple[Member, ...]:
        return self.controller.members if self.controller else ()

    @property
    def staying(self) -> tuple[Member, ...]:
        """The members that are not being removed."""
        return self.controller.staying if self.controller else ()

    @property
    def there(self) -> frozenset[str]:
        """The instances that run or boot and are not being removed.

        The controller lists an instance that it launched just now before EC2 does: only an ended one is not there.
        """
        ended = {instance.id for instance in self.instances if not instance.alive}
        return frozenset(member.instance for member in self.staying) - ended

    @property
    def alive(self) -> tuple[Instance, ...]:
        return tuple(instance for instance in self.instances if instance.alive)

    @property
    def existing(self) -> tuple[Instance, ...]:
        return tuple(instance for instance in self.instances if instance.exists)
