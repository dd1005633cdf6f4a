"""Adopting a NodePool that exists, of Karpenter or of EKS Auto Mode: its problems, and what to do about each.

Judges what the adapters read. The command line and the doctor use it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from lamplighter.data import instance_types
from lamplighter.domain.capacity.node_pool.ending import GIVEN_BY_AUTO_MODE, LONGEST
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE
from lamplighter.domain.pool.adoption import (
    About,
    Autoscalers,
    ExistingCluster,
    Obstacle,
    blocking_first,
    obstacle,
    of_cluster,
    of_other_node_pools,
)
from lamplighter.lab.kinds import Code
from lamplighter.reasons.reason import reason

LATEST = "@latest"


@dataclass(frozen=True)
class ServiceAccount:
    """The identity of Karpenter's pods in Kubernetes."""

    namespace: str
    name: str
    role_arn: str | None = None
    """Its IAM role, where an annotation names it; with pod identity, EKS knows it."""


@dataclass(frozen=True)
class ExistingNodeClass:
    """What a NodePool's nodes are made of."""

    name: str
    aliases: tuple[str, ...] = ()
    """Images by alias, such as al2023@v20260724; AWS makes these for EKS."""
    own_images: tuple[str, ...] = ()
    """Terms by which it finds other images: an id, a name, or tags."""
    role: str = ""
    """The IAM role of its nodes; empty if it names an instance profile."""
    ready: bool = True
    why_not: str = ""


@dataclass(frozen=True)
class ExistingNodePool:
    """What exists of a NodePool, with what adopting and the doctor need to know of it."""

    name: str
    kind: Code
    """The pool's kind in a lab file."""
    replicas: int | None = None
    """None for a dynamic NodePool, whose nodes come with pods."""
    most: int | None = None
    """Its limit of nodes; None where it has none."""
    instance_types: tuple[str, ...] = ()
    """The types that its requirements name; empty where other requirements choose them."""
    architectures: tuple[str, ...] = ()
    capacity_types: tuple[str, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    """Keys of requirements that its controller does not know, so that they exclude nothing."""
    may_start_gpus: bool = True
    grace: timedelta | None = None
    """How long a node that leaves waits for its pods; None where the NodePool states nothing."""
    expires_after: timedelta | None = None
    """The age at which its nodes are replaced; None for never."""
    consolidates: bool = False
    """Whether its controller removes nodes that have pods, to pack them closer."""
    running: int = 0
    ready: bool = True
    why_not: str = ""
    never_register: bool = False
    """Whether its instances started again and again without becoming nodes."""
    writers: tuple[str, ...] = ()
    """Programs that write its size back to what a repository says."""
    node_class: ExistingNodeClass | None = None
    """None where it does not exist or was not read."""

    @property
    def static(self) -> bool:
        return self.replicas is not None


def node_pool_obstacles(
    cluster: ExistingCluster, pool: ExistingNodePool, autoscalers: Autoscalers
) -> Iterator[Obstacle]:
    """Every problem, those that block first."""
    yield from blocking_first(
        [
            *of_cluster(cluster),
            *of_types(pool),
            *of_choice(pool),
            *of_life(pool),
            *of_image(pool),
            *of_health(pool),
            *of_other_node_pools(autoscalers, {pool.name}),
            *_notes(pool),
        ]
    )


def of_types(pool: ExistingNodePool) -> Iterator[Obstacle]:
    """Instance types without a GPU, or that nobody meant: by a key that excludes nothing, or of arm64."""
    without = tuple(name for name in pool.instance_types if instance_types.has_no_gpu(name))
    if without:
        yield obstacle(
            About.GPUS, reason("pool.node-pool.no-gpus", node_pool=pool.name, types=without), blocks=True
        )
    elif not pool.may_start_gpus:
        yield obstacle(About.GPUS, reason("pool.node-pool.gpus-excluded", node_pool=pool.name), blocks=True)
    if pool.unknown_keys:
        yield obstacle(
            About.GPUS, reason("pool.node-pool.unknown-keys", node_pool=pool.name, keys=pool.unknown_keys)
        )
    if "arm64" in pool.architectures:
        yield obstacle(About.GPUS, reason("pool.node-pool.arm64", node_pool=pool.name))


def of_choice(pool: ExistingNodePool) -> Iterator[Obstacle]:
    """What its owner may have chosen, and should know: several types, and nodes that AWS may take."""
    if not pool.instance_types and pool.may_start_gpus:
        yield obstacle(About.GPUS, reason("pool.node-pool.any-type", node_pool=pool.name))
    elif len(pool.instance_types) > 1:
        yield obstacle(
            About.GPUS, reason("pool.node-pool.several-types", node_pool=pool.name, types=pool.instance_types)
        )
    if "spot" in pool.capacity_types:
        yield obstacle(About.GROUP, reason("pool.node-pool.spot", node_pool=pool.name))


def of_life(pool: ExistingNodePool) -> Iterator[Obstacle]:
    """How its nodes end, and what may end them in a lease."""
    yield from of_grace(pool)
    if pool.consolidates and not pool.static:
        yield obstacle(About.GROUP, reason("pool.node-pool.consolidates", node_pool=pool.name))


def of_grace(pool: ExistingNodePool) -> Iterator[Obstacle]:
    """A pod that keeps its node longer than on a pool of the lab, or without end."""
    if pool.grace is not None and pool.grace > LONGEST:
        yield obstacle(
            About.GROUP,
            reason("pool.node-pool.long-grace", node_pool=pool.name, grace=pool.grace),
            longest=LONGEST,
        )
    elif pool.grace is None and pool.kind == AUTO_MODE.code:
        yield obstacle(
            About.GROUP,
            reason("pool.node-pool.day-of-grace", node_pool=pool.name, grace=GIVEN_BY_AUTO_MODE),
        )
    elif pool.grace is None:
        yield obstacle(About.GROUP, reason("pool.node-pool.no-grace", node_pool=pool.name))


def of_image(pool: ExistingNodePool) -> Iterator[Obstacle]:
    """An image that changes by itself, or that was not made for EKS."""
    if pool.node_class is None:
        return
    name = pool.node_class.name
    latest = tuple(alias for alias in pool.node_class.aliases if alias.endswith(LATEST))
    if latest:
        yield obstacle(
            About.IMAGE, reason("pool.node-pool.latest", node_pool=pool.name, node_class=name, images=latest)
        )
    if pool.node_class.own_images:
        yield obstacle(
            About.IMAGE,
            reason(
                "pool.node-pool.own-image",
                node_pool=pool.name,
                node_class=name,
                images=pool.node_class.own_images,
            ),
        )


def of_health(pool: ExistingNodePool) -> Iterator[Obstacle]:
    """Why no node of it can start, or becomes a node."""
    if not pool.ready:
        yield obstacle(About.GROUP, reason("pool.node-pool.not-ready", node_pool=pool.name, why=pool.why_not))
    elif pool.node_class is not None and not pool.node_class.ready:
        yield obstacle(
            About.GROUP, reason("pool.node-pool.not-ready", node_pool=pool.name, why=pool.node_class.why_not)
        )
    if pool.never_register:
        yield obstacle(About.GROUP, reason("pool.node-pool.never-register", node_pool=pool.name))
    if pool.writers:
        yield obstacle(
            About.GROUP, reason("pool.node-pool.written-back", node_pool=pool.name, writers=pool.writers)
        )


def _notes(pool: ExistingNodePool) -> Iterator[Obstacle]:
    if pool.most is None:
        yield obstacle(About.GROUP, reason("pool.node-pool.no-limit", node_pool=pool.name))
    if pool.running > 0:
        yield obstacle(About.GROUP, reason("pool.node-pool.running", node_pool=pool.name, nodes=pool.running))
