"""What AWS says about a pool's nodes, as values.

The adapters fill them, the guard, the meter and the handlers judge by them; nothing here decides.
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
    """An EKS managed node group: its sizes are what EKS believes, the group behind it may be ahead."""

    cluster: str
    name: str
    status: str
    minimum: int
    maximum: int
    desired: int
    group: str | None
    health: tuple[HealthIssue, ...] = ()
    instance_types: tuple[str, ...] = ()
    """Empty where its launch template names the type."""
    ami_type: str = ""
    disk_gib: int = 0
    """0 where its launch template says it."""
    template: tuple[str, str] | None = None
    """Id and version of its launch template."""
    role: str = ""
    """The name of its nodes' role."""


@dataclass(frozen=True)
class Update:
    """One update of a node group: the only progress EKS gives, since the status may stay ACTIVE."""

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
class Member:
    """An instance as its Auto Scaling group sees it."""

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
    members: tuple[Member, ...] = ()

    @property
    def staying(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if not member.leaving)


@dataclass(frozen=True)
class Activity:
    """A scaling activity: what the group did or failed to do, and what AWS said about it."""

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
    """An EC2 instance that carries a pool's tags; `ended` is known once it has stopped costing."""

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
        """Costs money or is about to: everything but what is gone for good."""
        return self.state not in {"terminated", "shutting-down"}

    @property
    def exists(self) -> bool:
        """Not yet gone: what proof of zero may not find."""
        return self.state != "terminated"
