"""The facts about Karpenter and a lab's NodePools that the doctor judges. Only values; adapters/doctor reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from lamplighter.domain.capacity.node_pool.controller import Controller
from lamplighter.domain.doctor.line import Unread
from lamplighter.domain.pool.node_pool_adoption import ExistingNodePool


@dataclass(frozen=True, slots=True)
class LaunchingRole:
    """The IAM role that launches a pool's instances, with the names of its policies."""

    name: str
    inline: tuple[str, ...]
    attached: tuple[str, ...]


class BarState(Enum):
    """What the API server answers to a NodeClaim that it does not keep."""

    REFUSES = auto()
    ACCEPTS = auto()
    OPEN = auto()
    """The bar of an adopted NodePool is open for a lease, so that nothing must be refused now."""
    NOTHING_TO_BAR = auto()
    """There is no NodePool."""


@dataclass(frozen=True, slots=True)
class NodePoolFacts:
    """What exists of one pool."""

    found: ExistingNodePool | None
    bar: BarState | Unread
    access: str | Unread | None = None
    """The type of the access entry of its nodes' role; None where there is none."""
    role: str = ""
    """The IAM role of its nodes; empty where its class names none."""
    launching: LaunchingRole | Unread | None = None
    """None where the lab does not know it."""


@dataclass(frozen=True, slots=True)
class KarpenterFacts:
    """What a lab with NodePools needs beside them."""

    controllers: tuple[Controller, ...] | Unread = ()
    absent_kinds: tuple[str, ...] | Unread = ()
    """Kinds of object that the cluster does not know."""
    queues: Mapping[str, bool | Unread] = field(default_factory=dict)
    """Whether each queue exists."""
    spot_role: bool | Unread = True
    """Whether the account has EC2's service-linked role for Spot."""
    pools: Mapping[str, NodePoolFacts | Unread] = field(default_factory=dict)
    """By pool."""
