"""What EKS and Auto Scaling say about a node group, as values. capacity/evidence.py has what fits every kind."""

from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.capacity.evidence import HealthIssue


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
    lab: str = ""
    """The lab whose stack creates it; empty where none does."""


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

    @property
    def ended(self) -> bool:
        return self.failed or self.status == "Successful"


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

    @property
    def has_instance(self) -> bool:
        """Whether EC2 gave it an instance, which boots or runs: `Launching a new EC2 instance: i-0ab1`."""
        return self.description.partition(": ")[2].startswith("i-")
