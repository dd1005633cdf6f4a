"""The properties of a node group that do not depend on other resources, and the cluster that its nodes join."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lamplighter.data.instance_types import InstanceType
from lamplighter.lab.nodes.images import CUSTOM, ImageFamily, family


@dataclass(frozen=True)
class NodeGroupTaint:
    """A taint, with the values of Kubernetes."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class NodeGroupSpec:
    """One node group. With an image of the user's, EKS takes neither the image type nor a Kubernetes version."""

    name: str
    lab: str
    kubernetes_version: str
    instance_type: str
    ami_type: str
    disk_gib: int
    min_size: int
    max_size: int
    hop_limit: int = 2
    max_pods: int | None = None
    start_script: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[NodeGroupTaint] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    # How EKS replaces nodes: MINIMAL stops a node before it starts another, so that a pool never needs more
    # instances than its quota has. DEFAULT starts one first.
    update_strategy: str = "DEFAULT"
    image: str | None = None
    image_family: ImageFamily | None = None
    efa: InstanceType | None = None
    """The type, where each node has its EFA interfaces."""
    instance_types: Sequence[str] = ()
    """Several types, first choice first. They are on the group, and the launch template then names none."""
    spot: bool = False
    reservation: str | None = None
    """The capacity reservation, by id, that nodes come from: from it alone."""
    of_block: bool = False
    """Whether that is a Capacity Block for ML."""

    @property
    def capacity_type(self) -> str:
        """What EKS calls the way in which its nodes are bought."""
        if self.of_block:
            return "CAPACITY_BLOCK"
        return "SPOT" if self.spot else "ON_DEMAND"

    @property
    def custom(self) -> bool:
        """Whether the image is the user's own: EKS adds nothing to its user data."""
        return self.ami_type == CUSTOM

    @property
    def family(self) -> ImageFamily:
        """The family of the image."""
        return family(self.ami_type, self.image_family)

    @property
    def node_version(self) -> str | None:
        """The Kubernetes version that EKS is told; an image of the user's has its own."""
        return None if self.custom else self.kubernetes_version

    @property
    def group_taints(self) -> Sequence[NodeGroupTaint]:
        """The taints that EKS puts on nodes.

        With an image of the user's EKS would put them on a node that runs pods already, so its user data has them
        (https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#mng-ami-id-conditions).
        """
        return () if self.custom else self.taints


@dataclass(frozen=True)
class ClusterAddress:
    """What a node must know to join the cluster; the values are those of a deploy."""

    name: str
    endpoint: str
    certificate_authority: str
    service_cidr: str
