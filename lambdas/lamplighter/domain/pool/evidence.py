"""What AWS says about a pool's nodes, as values.

The adapters fill them. The guard, the meter and the steps decide by them.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class HealthIssue:
    """One entry of a node group's health, in EKS's own words."""

    code: str
    message: str

    @property
    def text(self) -> str:
        """Code and message in one line."""
        return ": ".join(part for part in (self.code, self.message) if part)


@dataclass(frozen=True)
class NodeGroup:
    """An EKS managed node group. Its sizes are those that EKS knows; its Auto Scaling group may have newer ones."""

    cluster: str
    name: str
    status: str
    minimum: int
    maximum: int
    desired: int
    group: str | None
    """The name of the Auto Scaling group behind it."""
    health: tuple[HealthIssue, ...] = ()
    instance_types: tuple[str, ...] = ()
    """Empty where its launch template has the type."""
    ami_type: str = ""
    disk_gib: int = 0
    """0 where its launch template has it."""
    template: tuple[str, str] | None = None
    """Id and version of its launch template."""
    role: str = ""
    """The name of its nodes' role."""


@dataclass(frozen=True)
class NodeGroupUpdate:
    """One update of a node group. Only its updates show progress: the group's status may stay ACTIVE."""

    id: str
    kind: str
    status: str
    created: datetime | None
    errors: tuple[str, ...] = ()

    @property
    def in_progress(self) -> bool:
        return self.status == "InProgress"

    @property
    def failed(self) -> bool:
        return self.status in {"Failed", "Cancelled"}


@dataclass(frozen=True)
class GroupMember:
    """An instance in its Auto Scaling group."""

    instance: str
    zone: str
    lifecycle: str

    @property
    def leaving(self) -> bool:
        return self.lifecycle.startswith("Terminat")

    @property
    def waits_for_drain(self) -> bool:
        return self.lifecycle == "Terminating:Wait"


@dataclass(frozen=True)
class ScalingGroup:
    """The Auto Scaling group behind a node group."""

    name: str
    minimum: int
    maximum: int
    desired: int
    members: tuple[GroupMember, ...] = ()

    @property
    def staying(self) -> tuple[GroupMember, ...]:
        return tuple(member for member in self.members if not member.leaving)


@dataclass(frozen=True)
class ScalingActivity:
    """A scaling activity: a launch or a termination of the group, done or failed, with AWS's own words."""

    id: str
    status: str
    description: str
    message: str
    started: datetime
    ended: datetime | None
    cause: str = ""
    """Why, in Auto Scaling's own words."""

    @property
    def failed(self) -> bool:
        return self.status in {"Failed", "Cancelled"}

    @property
    def launches(self) -> bool:
        return self.description.startswith("Launching")


@dataclass(frozen=True)
class Instance:
    """An EC2 instance with a pool's tags. `ended` is when it stopped costing money, if it has."""

    id: str
    type: str
    zone: str
    state: str
    launched: datetime
    ended: datetime | None
    group: str | None
    private_dns: str

    @property
    def alive(self) -> bool:
        """Whether it costs money, or will soon."""
        return self.state not in {"terminated", "shutting-down"}

    @property
    def exists(self) -> bool:
        """Whether EC2 still has it: proof of zero needs that none exists."""
        return self.state != "terminated"
