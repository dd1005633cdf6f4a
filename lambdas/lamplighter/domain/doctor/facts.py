"""The facts that the doctor judges: each fact by itself, read, or not read with the reason.

Only values. adapters/doctor reads them, and the other files here judge them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lamplighter.data.lifecycle import Support
from lamplighter.domain.calendar.course import Course
from lamplighter.domain.capacity.reservation import Reservation
from lamplighter.domain.doctor.karpenter_facts import KarpenterFacts, NodePoolFacts
from lamplighter.domain.doctor.line import Unread
from lamplighter.domain.money.price import Price
from lamplighter.domain.pool.adoption import Autoscalers, ExistingCluster, ExistingPool
from lamplighter.domain.pool.node_pool_adoption import ExistingNodePool
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason


@dataclass(frozen=True, slots=True)
class AwsIdentity:
    """The caller, as AWS identifies it."""

    account: str
    arn: str
    at: datetime | None = None
    """When AWS answered, by its own clock."""


@dataclass(frozen=True, slots=True)
class NoAccess:
    """AWS rejects the credentials, or there are none: why, and what to do."""

    why: Said
    advice: Said


@dataclass(frozen=True, slots=True)
class PoolGroup:
    """What exists of a pool, and the zones of its subnets."""

    found: ExistingPool
    zones: tuple[str, ...]
    addresses: int | None = None
    """Free ones in its subnets; None where EC2 does not say."""


@dataclass(frozen=True, slots=True)
class ReservationFacts:
    """The reservation that a pool is bought from; None where EC2 does not know it."""

    found: Reservation | None
    unavailable: int | None = None
    """Of a Capacity Block: the instances that cannot be started now, where EC2 says how many."""


@dataclass(frozen=True, slots=True)
class OtherNodes:
    """A group of the cluster's nodes that no pool of the lab has."""

    name: str
    types: tuple[str, ...]
    """The instance types that it may start, and those that run in it, as far as they are known."""
    ordered: int
    managed: bool
    """Whether EKS manages it, so that a lab can adopt it."""


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """Facts from the cluster's own API; only the reason where it could not be asked."""

    autoscalers: Autoscalers
    operator: str | None = None
    """The version of the GPU Operator that runs, such as v26.3.1."""
    unavailable: tuple[str, ...] = ()
    """Deployments of the operator's namespace and of kube-system that want pods and have none available."""


@dataclass(frozen=True, slots=True)
class Trail:
    """A CloudTrail trail that records what happens in the lab's region."""

    name: str
    logging: bool
    changes: bool
    """Whether it records changes by API calls."""


@dataclass(frozen=True, slots=True)
class SlackSecret:
    """The secret of the Slack app, with those of its two parts that are empty."""

    name: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """All facts. None is an answer too: the resource does not exist (yet)."""

    caller: AwsIdentity | NoAccess | Unread
    region: str | None
    """The region in the caller's settings."""
    deployed: bool
    plan: str | Unread
    """FREE or PAID."""
    bootstrap: int | Unread | None
    quotas: Mapping[str, float | Unread]
    """vCPUs, by the lab's keys for them."""
    disks: float | Unread
    """TiB that gp3 volumes may have together."""
    concurrency: float | Unread
    """How many functions Lambda runs at once."""
    offered: Mapping[str, frozenset[str]] | Unread
    """The zones of the region in which each instance type of the lab is offered."""
    zones: Mapping[str, str] | Unread
    """Ids of the account's zones by name; empty for a deployed lab, whose zones stay as they are."""
    kubernetes: Mapping[str, Support] | Unread
    """The Kubernetes versions that AWS supports now."""
    cluster: ExistingCluster | Unread | None
    groups: Mapping[str, PoolGroup | Unread | None]
    """By pool."""
    inside: ClusterFacts | Unread | None
    others: tuple[OtherNodes, ...] | Unread
    """Empty where there is no cluster yet."""
    claims: Mapping[str, str] | Unread
    """The lab that guards a capacity, by the name of it."""
    trails: tuple[Trail, ...] | Unread
    slack: SlackSecret | Unread | None
    prices: Mapping[str, Price | None] | Unread
    """The last price of each pool from AWS's price list, where a lab is deployed."""
    courses: Mapping[str, Course] | Unread
    """The calendars that windows follow, by window."""
    reservations: Mapping[str, ReservationFacts | Unread] = field(default_factory=dict)
    """By pool; empty where no pool is bought from one."""
    spot_role: bool | Unread = True
    """Whether the account has EC2's service-linked role for Spot; asked only where a pool buys Spot Instances."""
    karpenter: KarpenterFacts | Unread | None = None
    """What a lab with NodePools needs; None where it has none, or where there is no cluster yet."""

    def instance_type(self, lab: Lab, pool: str) -> str | Unread:
        """The first of the instance types of a pool."""
        types = self.instance_types(lab, pool)
        return types if isinstance(types, Unread) else types[0]

    def instance_types(self, lab: Lab, pool: str) -> tuple[str, ...] | Unread:
        """The instance types of a pool: from the lab, else from AWS."""
        stated = lab.pools[pool].types
        group = self.groups.get(pool)
        if stated:
            return stated
        if isinstance(group, Unread):
            return group
        node_pool = self._node_pool(pool)
        types = node_pool.instance_types if node_pool else group.found.instance_types if group else ()
        return types or Unread(reason("doctor.type-unknown", pool=pool))

    def most_nodes(self, lab: Lab, pool: str) -> int | Unread:
        """How many nodes a pool may have: from the lab, else from AWS."""
        stated = lab.pools[pool].max_nodes
        group = self.groups.get(pool)
        if stated:
            return stated
        if isinstance(group, Unread):
            return group
        node_pool = self._node_pool(pool)
        if node_pool is not None and node_pool.most is not None:
            return node_pool.most
        return Unread(reason("doctor.no-group-yet", pool=pool)) if group is None else group.found.maximum

    def _node_pool(self, pool: str) -> ExistingNodePool | None:
        found = self.karpenter.pools.get(pool) if isinstance(self.karpenter, KarpenterFacts) else None
        return found.found if isinstance(found, NodePoolFacts) else None
