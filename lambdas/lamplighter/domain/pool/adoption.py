"""Adopting a node group that exists: what of it goes into a lab file, and what stands in the way.

Judges what was read; reading is the adapters', writing the file the command line's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lamplighter.data import instance_types
from lamplighter.domain.gpu.image import may_have_driver
from lamplighter.reasons.reason import Said

# The addresses of functions change: a list of allowed ones cannot name them.
EVERYWHERE = "0.0.0.0/0"
AUTOSCALER_TAG = "k8s.io/cluster-autoscaler/enabled"


@dataclass(frozen=True)
class FoundCluster:
    """An EKS cluster, as far as adopting asks."""

    name: str
    region: str
    version: str
    authentication: str
    public_endpoint: bool
    public_cidrs: tuple[str, ...]
    support: str = "EXTENDED"
    """What EKS does when standard support ends: EXTENDED charges more, STANDARD upgrades the cluster."""
    status: str = "ACTIVE"
    names_its_key: bool = True
    """Whether its certificate authority has key identifiers."""


@dataclass(frozen=True)
class FoundGroup:
    """A managed node group and the group behind it, as far as adopting asks."""

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
    """Of its image: 1.35.4-20260714."""
    subnets: tuple[str, ...] = ()
    group: str = ""
    """The name of the Auto Scaling group behind it."""


@dataclass(frozen=True)
class Autoscalers:
    """What Kubernetes says of autoscalers; `asked` is False where it did not say, and why."""

    asked: bool
    reachable: bool = True
    found: tuple[str, ...] = ()
    why_not: Said = ""
    nodepools: tuple[str, ...] = ()
    """Those of Karpenter that may start nodes with GPUs."""


class About(StrEnum):
    """What an obstacle is about."""

    AUTHENTICATION = "authentication"
    ENDPOINT = "endpoint"
    AUTHORITY = "authority"
    MINIMUM = "minimum"
    AUTOSCALERS = "autoscalers"
    GPUS = "gpus"
    GROUP = "group"


@dataclass(frozen=True)
class Obstacle:
    """Something in the way; one that blocks must be gone before the lab is deployed."""

    about: About
    blocks: bool
    said: str
    advice: str

    @property
    def text(self) -> str:
        """What it is and what to do about it, in one line."""
        return f"{self.said}; {self.advice}"


def obstacles(cluster: FoundCluster, group: FoundGroup, autoscalers: Autoscalers) -> Iterator[Obstacle]:
    """What stands in the way, what blocks first."""
    found = [
        *of_cluster(cluster),
        *of_group(group),
        *of_gpus(group),
        *of_autoscalers(group, autoscalers),
        *_notes(group),
    ]
    yield from sorted(found, key=lambda one: not one.blocks)


def of_cluster(cluster: FoundCluster) -> Iterator[Obstacle]:
    """What keeps our functions out of a cluster."""
    if cluster.authentication == "CONFIG_MAP":
        yield Obstacle(
            About.AUTHENTICATION,
            True,
            f"cluster {cluster.name} has authentication mode CONFIG_MAP, in which it can have no access entries",
            "aws eks update-cluster-config --access-config authenticationMode=API_AND_CONFIG_MAP "
            f"--name {cluster.name}",
        )
    if not cluster.public_endpoint:
        yield Obstacle(
            About.ENDPOINT,
            True,
            f"the endpoint of cluster {cluster.name} is private: the functions run outside its VPC and "
            "cannot reach it",
            "switch public access on, it still asks for IAM authentication",
        )
    elif EVERYWHERE not in cluster.public_cidrs:
        yield Obstacle(
            About.ENDPOINT,
            True,
            f"the endpoint of cluster {cluster.name} lets in {', '.join(cluster.public_cidrs)} only: "
            "functions have no fixed addresses and cannot reach it",
            f"let in {EVERYWHERE}, it still asks for IAM authentication",
        )
    if not cluster.names_its_key:
        yield Obstacle(
            About.AUTHORITY,
            False,
            f"the certificate authority of cluster {cluster.name} has no key identifiers, as those of clusters first "
            "created on Kubernetes 1.16 or older",
            "the functions accept it; other programs on Python 3.13 or newer may refuse it",
        )


def of_group(group: FoundGroup) -> Iterator[Obstacle]:
    """What keeps a group from ever being at zero."""
    if group.minimum > 0:
        yield Obstacle(
            About.MINIMUM,
            True,
            f"node group {group.name} has minimum {group.minimum}: it would never be at zero",
            "set it to 0 where the group is managed (Terraform: min_size = 0, and ignore_changes for desired_size)",
        )


def of_gpus(group: FoundGroup) -> Iterator[Obstacle]:
    """Nodes without a GPU, or whose image cannot use one."""
    without = [name for name in group.instance_types if instance_types.has_no_gpu(name)]
    if without:
        yield Obstacle(
            About.GPUS,
            True,
            f"node group {group.name} may start {', '.join(without)}, without an NVIDIA GPU: no lease on it could be "
            "proven",
            "name a node group whose instances have GPUs",
        )
    unknown = [
        name for name in group.instance_types if name not in without and instance_types.gpu_type(name) is None
    ]
    if unknown or not group.instance_types:
        named = ", ".join(unknown) or "its instances"
        yield Obstacle(
            About.GPUS,
            False,
            f"whether {named} of node group {group.name} have an NVIDIA GPU is not known here",
            "see for yourself: aws ec2 describe-instance-types --query 'InstanceTypes[].GpuInfo'"
            + (f" --instance-types {' '.join(unknown)}" if unknown else ""),
        )
    if not without and not may_have_driver(group.ami_type):
        yield Obstacle(
            About.GPUS,
            False,
            f"the image of node group {group.name} is {group.ami_type}, which has no NVIDIA driver",
            "see that the GPU Operator installs one (driver.enabled), or give the group an NVIDIA image",
        )


def of_autoscalers(group: FoundGroup, autoscalers: Autoscalers) -> Iterator[Obstacle]:
    """Who else may start or remove GPU nodes."""
    tagged = AUTOSCALER_TAG in group.group_tags
    for name in autoscalers.found:
        if tagged:
            yield Obstacle(
                About.AUTOSCALERS,
                True,
                f"{name} may open node group {group.name} without a lease or remove a leased node",
                f"exclude the group from it (take the tag {AUTOSCALER_TAG} off its Auto Scaling group)",
            )
        else:
            yield Obstacle(
                About.AUTOSCALERS,
                False,
                f"{name} runs, and node group {group.name} has not the tag by which it finds groups",
                "see that it is not told of the group by name (--nodes)",
            )
    for name in autoscalers.nodepools:
        yield Obstacle(
            About.AUTOSCALERS,
            True,
            f"{name} may start GPU nodes that no lease justifies, for pods that wait for a window",
            "keep GPUs out of it: requirement karpenter.k8s.aws/instance-gpu-count with operator DoesNotExist",
        )
    if not autoscalers.asked:
        also = ", and it has an autoscaler's tag" if tagged else ""
        yield Obstacle(
            About.AUTOSCALERS,
            False,
            f"whether an autoscaler manages the group is not known{also}: {autoscalers.why_not}",
            "see for yourself: kubectl get deployments -A | grep autoscaler",
        )


def _notes(group: FoundGroup) -> Iterator[Obstacle]:
    if group.desired > 0:
        yield Obstacle(
            About.GROUP,
            False,
            f"{group.desired} nodes are ordered in {group.name} now: they are left alone and reported "
            "while guard.mode is watch",
            "the first lease that ends on the group takes it to zero",
        )
    if len(group.instance_types) > 1:
        yield Obstacle(
            About.GROUP,
            False,
            f"node group {group.name} may start any of {', '.join(group.instance_types)}",
            "money is counted as for the first",
        )
    if group.capacity_type == "SPOT":
        yield Obstacle(
            About.GROUP, False, f"node group {group.name} is SPOT", "AWS may take a leased node at any time"
        )
    if group.status not in {"ACTIVE", "UPDATING"}:
        yield Obstacle(
            About.GROUP,
            False,
            f"node group {group.name} is {group.status}",
            "see its health before you open it",
        )
