"""Adopting a pool that exists: its problems, and what to do about each.

Judges what the adapters read; the command line writes the lab file.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lamplighter.data import instance_types
from lamplighter.domain.pool import image as images
from lamplighter.reasons.reason import Reason, Said, Value, reason

# A list of allowed addresses cannot name the functions: their addresses change.
EVERYWHERE = "0.0.0.0/0"
AUTOSCALER_TAG = "k8s.io/cluster-autoscaler/enabled"


@dataclass(frozen=True)
class ExistingCluster:
    """An existing EKS cluster, with what adopting needs to know of it."""

    name: str
    region: str
    version: str
    authentication: str
    public_endpoint: bool
    public_cidrs: tuple[str, ...]
    support: str = "EXTENDED"
    """After standard support, EXTENDED costs more; with STANDARD, EKS upgrades the cluster."""
    status: str = "ACTIVE"
    names_its_key: bool = True
    """Whether its certificate authority has key identifiers."""
    auto_mode: bool = False
    """Whether EKS Auto Mode is on."""
    authorities: frozenset[str] = frozenset()
    """The certificates of the authorities that it trusts, base64: two while EKS rotates it. Empty if unreadable."""


@dataclass(frozen=True)
class ExistingPool:
    """What exists of a pool in AWS, with what adopting needs to know of it."""

    name: str
    status: str
    instance_types: tuple[str, ...]
    ami_type: str
    capacity_type: str
    minimum: int
    maximum: int
    desired: int
    group_tags: Mapping[str, str]
    release: str = ""
    """The release of its image, such as 1.35.4-20260714."""
    subnets: tuple[str, ...] = ()
    group: str = ""
    """The name of its controller, which holds the instances."""
    warm_pool: bool = False
    """Whether its controller keeps instances ready beside it, stopped or running."""
    scheduled_actions: tuple[str, ...] = ()
    """Those of its controller, which change its size by the clock."""
    authorities: frozenset[str] = frozenset()
    """The same in the user data of its own image; empty where EKS tells it to the nodes."""
    issues: tuple[str, ...] = ()
    """What EKS reports as its health: a code and a message each, as AWS words them."""
    role: str = ""
    """The ARN of its nodes' role."""


@dataclass(frozen=True)
class Autoscalers:
    """The autoscalers that run in the cluster. `asked` is False where Kubernetes did not answer; `why_not` says why."""

    asked: bool
    reachable: bool = True
    found: tuple[str, ...] = ()
    why_not: Said = ""
    nodepools: tuple[str, ...] = ()
    """NodePools, of Karpenter or of EKS Auto Mode, that may start nodes with GPUs."""


class About(StrEnum):
    """The subject of an obstacle."""

    AUTHENTICATION = "authentication"
    ENDPOINT = "endpoint"
    AUTHORITY = "authority"
    MINIMUM = "minimum"
    WARM_POOL = "warm pool"
    SCHEDULED = "scheduled actions"
    AUTOSCALERS = "autoscalers"
    GPUS = "gpus"
    IMAGE = "image"
    GROUP = "group"


@dataclass(frozen=True)
class Obstacle:
    """A problem of the cluster or the pool; one that blocks must be solved before the lab is deployed."""

    about: About
    blocks: bool
    said: Reason
    advice: Reason

    @property
    def text(self) -> Reason:
        """The problem and what to do about it, in one line."""
        return reason("pool.adopt.obstacle", problem=self.said, advice=self.advice)


def obstacle(about: About, said: Reason, *, blocks: bool = False, **advice: Value) -> Obstacle:
    """The obstacle of a reason whose advice has the same code with `.advice`; `advice` has the values of its text."""
    return Obstacle(about, blocks, said, Reason(f"{said.code}.advice", advice))


def blocking_first(found: Iterable[Obstacle]) -> list[Obstacle]:
    """The obstacles in their order, those that block before the others."""
    return sorted(found, key=lambda problem: not problem.blocks)


def obstacles(cluster: ExistingCluster, group: ExistingPool, autoscalers: Autoscalers) -> Iterator[Obstacle]:
    """Every problem, those that block first."""
    image = list(of_image(group))
    yield from blocking_first(
        [
            *of_cluster(cluster),
            *of_group(group),
            # Of an image that no pool can have, it does not matter which GPUs its nodes have.
            *([] if any(problem.blocks for problem in image) else of_gpus(group)),
            *image,
            *of_autoscalers(group, autoscalers),
            *_notes(group),
        ]
    )


def of_cluster(cluster: ExistingCluster) -> Iterator[Obstacle]:
    """Settings of a cluster that keep our functions out, or may."""
    name = cluster.name
    if cluster.authentication == "CONFIG_MAP":
        yield obstacle(
            About.AUTHENTICATION, reason("pool.adopt.config-map", cluster=name), blocks=True, cluster=name
        )
    if not cluster.public_endpoint:
        yield obstacle(About.ENDPOINT, reason("pool.adopt.private-endpoint", cluster=name), blocks=True)
    elif EVERYWHERE not in cluster.public_cidrs:
        yield obstacle(
            About.ENDPOINT,
            reason("pool.adopt.narrow-endpoint", cluster=name, cidrs=cluster.public_cidrs),
            blocks=True,
            everywhere=EVERYWHERE,
        )
    if not cluster.names_its_key:
        yield obstacle(About.AUTHORITY, reason("pool.adopt.authority", cluster=name))


def of_group(group: ExistingPool) -> Iterator[Obstacle]:
    """What keeps a group from being at zero, and what the guard would fight: a minimum, a warm pool, a schedule."""
    if group.minimum > 0:
        yield obstacle(
            About.MINIMUM, reason("pool.adopt.minimum", group=group.name, minimum=group.minimum), blocks=True
        )
    if group.warm_pool:
        yield obstacle(
            About.WARM_POOL, reason("pool.adopt.warm-pool", group=group.name), blocks=True, group=group.name
        )
    if group.scheduled_actions:
        yield obstacle(
            About.SCHEDULED,
            reason("pool.adopt.scheduled-actions", group=group.name, actions=group.scheduled_actions),
            blocks=True,
            controller=group.group or group.name,
        )


def of_gpus(group: ExistingPool) -> Iterator[Obstacle]:
    """Nodes without a GPU, or of which it is not known here."""
    without = [name for name in group.instance_types if instance_types.has_no_gpu(name)]
    if without:
        yield obstacle(
            About.GPUS, reason("pool.adopt.no-gpus", group=group.name, types=tuple(without)), blocks=True
        )
    unknown = [
        name for name in group.instance_types if name not in without and instance_types.gpu_type(name) is None
    ]
    if unknown:
        yield obstacle(
            About.GPUS,
            reason("pool.adopt.unknown-gpus", types=tuple(unknown), group=group.name),
            types=" ".join(unknown),
        )
    if not group.instance_types:
        yield obstacle(About.GPUS, reason("pool.adopt.unknown-types", group=group.name))


def image_remarks(group: ExistingPool) -> Iterator[images.ImageRemark]:
    """What is to be known of the group's image."""
    yield from images.remarks(group.name, group.ami_type, group.instance_types, group.release)


def of_image(group: ExistingPool) -> Iterator[Obstacle]:
    """What follows from the group's image. Of nodes without a GPU, only whether any pool can have the image."""
    without = any(instance_types.has_no_gpu(name) for name in group.instance_types)
    for remark in image_remarks(group):
        refused = remark.weight is images.Weight.REFUSED
        if refused or not without:
            yield Obstacle(About.IMAGE, refused, remark.said, remark.advice)


def of_autoscalers(group: ExistingPool, autoscalers: Autoscalers) -> Iterator[Obstacle]:
    """Other programs that may start or remove GPU nodes."""
    tagged = AUTOSCALER_TAG in group.group_tags
    for name in autoscalers.found:
        if tagged:
            yield obstacle(
                About.AUTOSCALERS,
                reason("pool.adopt.autoscaler", autoscaler=name, group=group.name),
                blocks=True,
                tag=AUTOSCALER_TAG,
            )
        else:
            yield obstacle(
                About.AUTOSCALERS, reason("pool.adopt.autoscaler-untagged", autoscaler=name, group=group.name)
            )
    yield from of_other_node_pools(autoscalers)
    if not autoscalers.asked:
        why_not = autoscalers.why_not
        yield Obstacle(
            About.AUTOSCALERS,
            False,
            reason("pool.adopt.autoscalers-unknown.tagged", reason=why_not)
            if tagged
            else reason("pool.adopt.autoscalers-unknown", reason=why_not),
            reason("pool.adopt.autoscalers-unknown.advice"),
        )


def of_other_node_pools(autoscalers: Autoscalers, ours: Collection[str] = ()) -> Iterator[Obstacle]:
    """NodePools that may start GPU nodes and are not `ours`."""
    for name in autoscalers.nodepools:
        if name not in ours:
            yield obstacle(About.AUTOSCALERS, reason("pool.adopt.nodepool", nodepool=name), blocks=True)


def _notes(group: ExistingPool) -> Iterator[Obstacle]:
    name = group.name
    if group.desired > 0:
        yield obstacle(About.GROUP, reason("pool.adopt.running", nodes=group.desired, group=name))
    if len(group.instance_types) > 1:
        yield obstacle(
            About.GROUP, reason("pool.adopt.several-types", group=name, types=group.instance_types)
        )
    if group.capacity_type == "SPOT":
        yield obstacle(About.GROUP, reason("pool.adopt.spot", group=name))
    if group.capacity_type == "CAPACITY_BLOCK":
        yield obstacle(About.GROUP, reason("pool.adopt.capacity-block", group=name))
    if group.status not in {"ACTIVE", "UPDATING"}:
        yield obstacle(About.GROUP, reason("pool.adopt.status", group=name, status=group.status))
