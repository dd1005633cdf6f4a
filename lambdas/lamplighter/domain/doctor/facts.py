"""What the doctor knows of an account and a lab in it: each fact for itself, read or not read and why.

Values only; who reads them are adapters/doctor, what they mean its neighbours here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.calendar.course import Course
from lamplighter.domain.doctor.line import Unread
from lamplighter.domain.money.price import Price
from lamplighter.domain.pool.adoption import Autoscalers, ExistingCluster, ExistingNodeGroup
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason


@dataclass(frozen=True, slots=True)
class AwsIdentity:
    """Who asks, by AWS's own answer."""

    account: str
    arn: str
    at: datetime | None = None
    """When AWS answered, by its own clock."""


@dataclass(frozen=True, slots=True)
class NoAccess:
    """AWS does not take the credentials there are, or there are none; in words, and what to do."""

    why: Said
    advice: Said


@dataclass(frozen=True, slots=True)
class PoolGroup:
    """A pool's node group and the zones of its subnets."""

    found: ExistingNodeGroup
    zones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What the cluster itself says; nothing but why where `autoscalers` was not asked."""

    autoscalers: Autoscalers
    operator: str | None = None
    """The version of the GPU Operator that runs, such as v26.3.1."""


@dataclass(frozen=True, slots=True)
class Trail:
    """A CloudTrail trail that records what happens in the lab's region."""

    name: str
    logging: bool
    changes: bool
    """Whether changes by API calls are among what it records."""


@dataclass(frozen=True, slots=True)
class SlackSecret:
    """The secret of the Slack app; which of its two parts are not filled in."""

    name: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Everything that was looked at. None is an answer too: it is not there (yet)."""

    caller: AwsIdentity | NoAccess | Unread
    region: str | None
    """Where calls go by the settings of whoever asks."""
    deployed: bool
    bootstrap: int | Unread | None
    quotas: Mapping[str, float | Unread]
    """vCPUs, by the lab's keys for them."""
    concurrency: float | Unread
    """How many functions Lambda runs at once."""
    offered: Mapping[str, frozenset[str]] | Unread
    """The zones of the region in which each instance type of the lab is offered."""
    cluster: ExistingCluster | Unread | None
    groups: Mapping[str, PoolGroup | Unread | None]
    """By pool."""
    inside: ClusterFacts | Unread | None
    claims: Mapping[str, str] | Unread
    """The lab that guards a node group, by node group."""
    trails: tuple[Trail, ...] | Unread
    slack: SlackSecret | Unread | None
    prices: Mapping[str, Price | None] | Unread
    """What AWS's price list said last of each pool, where a lab is deployed."""
    courses: Mapping[str, Course] | Unread
    """The calendars that windows follow, by window."""

    def instance_type(self, lab: Lab, pool: str) -> str | Unread:
        """What a pool's nodes are: as the lab says, else as its node group has it."""
        stated = lab.pools[pool].instance_type
        group = self.groups.get(pool)
        if stated:
            return stated
        if isinstance(group, Unread):
            return group
        if group is None or not group.found.instance_types:
            return Unread(reason("doctor.type-unknown", pool=pool))
        return group.found.instance_types[0]

    def most_nodes(self, lab: Lab, pool: str) -> int | Unread:
        """How many nodes a pool may have: as the lab says, else as its node group has it."""
        stated = lab.pools[pool].max_nodes
        group = self.groups.get(pool)
        if stated:
            return stated
        if isinstance(group, Unread):
            return group
        return Unread(reason("doctor.no-group-yet", pool=pool)) if group is None else group.found.maximum
