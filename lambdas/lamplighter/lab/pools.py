"""Pools: the GPU capacity under guard. A pool is created or adopted; kinds.py says what each kind of it has.

The defaults are those of the GPU node group of the Terraform lab.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from lamplighter.data import instance_types
from lamplighter.lab.kinds import KINDS, Code, Trait
from lamplighter.lab.names import (
    AMI_TYPE,
    AUTO_SCALING_GROUP,
    EXISTING_POOL,
    INSTANCE_TYPE,
    PACKAGE,
    POOL_IMAGE,
    RESERVATION,
)
from lamplighter.lab.nodes.images import CUSTOM, ImageFamily, family, image_family_field
from lamplighter.lab.types import Amount, Duration, Part, Start, change, unit

GPU_LABELS = {"tier": "gpu", "nvidia.com/gpu": "true"}
PACKAGES = ["tree", "bind-utils", "tcpdump", "nvme-cli", "links", "sysstat", "ipset", "htop"]
InstanceType = Annotated[str, StringConstraints(pattern=INSTANCE_TYPE)]
Package = Annotated[str, StringConstraints(pattern=PACKAGE)]
IMAGE_OF_KARPENTER = "al2023@v20260724"
LAST_GRACE = timedelta(minutes=10)
ADDED: dict[str, Any] = {
    "kind": "node-group",
    "efa": False,
    "instance_types": [],
    "zones": [],
    "buy": "on-demand",
    "reservation": None,
    "reservation_type": "on-demand",
    "fallback": None,
    "fallback_ask": False,
}
"""Keys of releases after 0.1.0, and their defaults: the normalised lab leaves them out, so its text stays the same."""
LONGEST_CHAIN = 3
"""So many pools one lease may have: its own, the fallback, and the fallback of that."""
AUTOSCALER = "k8s.io/cluster-autoscaler/node-template"

# The values of an adopted pool until AWS is asked: with them no lease is ever admitted.
UNSTATED = {"instance_type": "", "ami_type": "", "max_nodes": 0, "disk_gib": 0}


class Taint(Part):
    """A taint on the nodes of a group, as Kubernetes has it."""

    key: str = Field(min_length=1, max_length=63, description="The key.", examples=["nvidia.com/gpu"])
    value: str = Field("", max_length=63, description="The value; it may be empty.", examples=["true"])
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        "NoSchedule", description="What happens to pods that do not tolerate it."
    )

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"


class Pool(Part):
    """GPU capacity under guard: zero nodes unless a lease justifies more."""

    kind: Code = Field(
        "node-group",
        description="What holds its size: an EKS managed node group, a NodePool of Karpenter, or one of EKS Auto Mode.",
        examples=["karpenter"],
    )
    existing: str | None = Field(
        None,
        pattern=EXISTING_POOL,
        description="The name of an existing node group or, with kind karpenter or auto-mode, of a NodePool to adopt;"
        " keys that are left out are then read from AWS.",
        examples=["my-gpu-nodes"],
    )
    auto_scaling_group: str | None = Field(
        None,
        pattern=AUTO_SCALING_GROUP,
        description="The Auto Scaling group of an existing node group, if its name does not begin with eks-NODEGROUP-,"
        " as for node groups made before spring 2021. `lamplighter adopt` prints it.",
        examples=["eks-6eb9e8a0-1f2b-4c5d-8e9f-0a1b2c3d4e5f"],
    )
    instance_type: str = Field(
        "g5.xlarge",
        pattern=INSTANCE_TYPE,
        description="The EC2 instance type of its nodes.",
        json_schema_extra=change("rolled"),
    )
    instance_types: list[InstanceType] = Field(
        default_factory=list,
        description="In place of instance_type, several types, first choice first: all have one number of GPUs and one"
        " architecture. Of an existing pool, all that it may start. The dearest counts when money is held for a lease,"
        " and each node is paid at the price of its own type.",
        examples=[["g6.xlarge", "g5.xlarge"]],
        json_schema_extra=change("replaced"),
    )
    max_nodes: int = Field(
        2,
        ge=1,
        le=100,
        description="The most nodes; the default fits a quota of 8 vCPUs.",
        json_schema_extra=unit("nodes", "in place"),
    )
    seats_per_gpu: int | None = Field(
        None,
        ge=1,
        le=1_000,
        description="For windows with seats, how many people one GPU serves. Left out: as many as it is offered to, by"
        " sharing and slices.",
        examples=[4],
        json_schema_extra=unit("seats for a GPU"),
    )
    price_per_hour: Amount | None = Field(
        None,
        description="The price of a node; left out: the price from the shipped table, by region and type.",
        examples=["1.237"],
        json_schema_extra=unit("currency of the budget for a node and hour"),
    )
    buy: Literal["on-demand", "spot", "reserved"] = Field(
        "on-demand",
        description="How its nodes are bought: on demand, as Spot nodes, or only from a reservation of yours. A Spot"
        " node costs less, and AWS may take it two minutes after a notice. Its money is held at the on-demand price,"
        " and it is paid at EC2's Spot price of each second.",
        examples=["spot"],
        json_schema_extra=change("replaced"),
    )
    on_interruption: Literal["replace", "fewer"] | None = Field(
        None,
        description="With buy: spot: what the lab does when AWS takes a leased node. replace: it asks for another one"
        " and proves it. fewer: the lease goes on with the nodes that it still has, and the money of that node is free."
        " The last node of a lease is always replaced. Left out: replace.",
        examples=["fewer"],
    )
    reservation: str | None = Field(
        None,
        pattern=RESERVATION,
        description="With buy: reserved, the id of a targeted capacity reservation. Its hours bound every window and"
        " every lease.",
        examples=["cr-0123456789abcdef0"],
        json_schema_extra=change("rolled"),
    )
    reservation_type: Literal["on-demand", "capacity-block"] = Field(
        "on-demand",
        description="What the reservation is: an On-Demand Capacity Reservation, for now or for a date, or a Capacity"
        " Block for ML. A block is prepaid, so its nodes add nothing to the budget, and leases end 45 minutes before"
        " it. The doctor compares it with AWS's.",
        examples=["capacity-block"],
        json_schema_extra=change("replaced"),
    )
    ami_type: str = Field(
        "AL2023_x86_64_NVIDIA",
        pattern=AMI_TYPE,
        description="The kind of EKS-optimised image; it brings the NVIDIA driver and container toolkit. CUSTOM for one"
        " of yours.",
        json_schema_extra=change("replaced"),
    )
    image: str | None = Field(
        None,
        pattern=POOL_IMAGE,
        description="The id of your own image, with ami_type: CUSTOM; with kind karpenter an alias with its version,"
        " such as al2023@v20260724. EKS adds nothing to the user data of an own image, so the lab writes all of it.",
        examples=["ami-0123456789abcdef0"],
        json_schema_extra=change("rolled"),
    )
    image_family: ImageFamily | None = image_family_field()
    disk_gib: int = Field(
        100,
        ge=20,
        le=16384,
        description="The size of a node's root volume; GPU images are large.",
        json_schema_extra=unit("GiB", "rolled"),
    )
    zone_index: int = Field(
        0,
        ge=0,
        description="The zone of its nodes, as an index of cluster.zones from 0: one zone keeps NCCL traffic local.",
        json_schema_extra=unit("index", "replaced"),
    )
    zones: list[Annotated[int, Field(ge=0)]] = Field(
        default_factory=list,
        description="In place of zone_index, several zones: a node starts in one that has capacity. Traffic between"
        " zones costs money, and NCCL is slower across them.",
        examples=[[0, 1]],
        json_schema_extra=unit("indexes", "replaced"),
    )
    labels: dict[str, str] = Field(
        default_factory=lambda: dict(GPU_LABELS),
        description="Labels on its nodes, added to the default ones.",
        json_schema_extra=change("in place"),
    )
    taints: list[Taint] = Field(
        default_factory=lambda: [Taint(key="nvidia.com/gpu", value="true", effect="NoSchedule")],
        description="Taints on its nodes: they keep other work away from GPUs.",
        json_schema_extra=change("in place"),
    )
    metadata_hop_limit: int = Field(
        2,
        ge=1,
        le=64,
        description="The hop limit of instance metadata (IMDSv2 only).",
        json_schema_extra=unit("hops", "rolled"),
    )
    drain: Duration | None = Field(
        None,
        description="With kind karpenter or auto-mode: how long pods may take at closing before they are deleted,"
        " whatever protects them; at most 25m. Left out: 4m, as for a node group, and 10m where its controller ends"
        " a node by itself.",
        examples=["10m"],
        json_schema_extra=unit("duration such as 10m", "in place"),
    )
    efa: bool = Field(
        False,
        description="As many EFA network interfaces as the instance type has, with EFA's security group and device"
        " plugin, and on a node group a placement group. A collective between nodes then has to go over EFA. An adopted"
        " pool has its own interfaces and plugin.",
        examples=[True],
        json_schema_extra=change("rolled"),
    )
    packages: list[Package] = Field(
        default_factory=lambda: [*PACKAGES, "pciutils"],
        description="Packages to install when a node starts.",
        json_schema_extra=change("rolled"),
    )
    curfew: Start | None = Field(
        None,
        description="The curfew of this pool; replaces guard.curfew.",
        examples=["04:00"],
        json_schema_extra=unit("HH:MM, 00:00 to 23:59"),
    )
    fallback: str | None = Field(
        None,
        min_length=1,
        max_length=40,
        description="Another pool of the lab, which takes a whole lease when no node of it comes to this one. That pool"
        " may name a third; a chain has no more.",
        examples=["other"],
    )
    fallback_ask: bool = Field(
        False,
        description="Slack asks with a button before a lease moves to the fallback.",
    )

    how_to_use: str | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="What people read in Slack when the pool is open: where to log in, what to run, whom to ask."
        " Slack always shows the YAML of a pod with its toleration and GPU limit as well.",
        examples=["ssh class@bastion.example.com, then kubectl apply -f my-gpu-pod.yaml"],
        json_schema_extra=unit("text, 1000 characters at most"),
    )

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: object) -> object:
        """Add the default labels key by key; an adopted pool gets no default that AWS may contradict."""
        if isinstance(data, dict) and not data.get("existing") and isinstance(data.get("labels"), dict):
            return {**data, "labels": {**GPU_LABELS, **data["labels"]}}
        return data

    @model_validator(mode="after")
    def _read_from_aws(self) -> "Pool":
        if self.existing is not None:
            for name in self.unstated:
                object.__setattr__(self, name, UNSTATED[name])
            for name, nothing in (("labels", {}), ("taints", []), ("packages", [])):
                if name not in self.model_fields_set:
                    object.__setattr__(self, name, nothing)
        return self

    @model_validator(mode="after")
    def _first_choice(self) -> "Pool":
        """Of several types or zones the first stands where one is meant."""
        if self.instance_types:
            object.__setattr__(self, "instance_type", self.instance_types[0])
        if self.zones:
            object.__setattr__(self, "zone_index", self.zones[0])
        return self

    @model_validator(mode="after")
    def _image_of_kind(self) -> "Pool":
        """A NodePool's image follows from its kind: `ami_type` is then the EKS type that is made alike."""
        if self.has("image alias") and self.existing is None and self.image is None:
            object.__setattr__(self, "image", IMAGE_OF_KARPENTER)
        if self.derives_image:
            system = "BOTTLEROCKET" if self.has("built-in GPUs") or self._of_bottlerocket else "AL2023"
            arm = instance_types.architecture(self.instance_type) == "arm64"
            object.__setattr__(self, "ami_type", f"{system}_{'ARM_64' if arm else 'x86_64'}_NVIDIA")
        return self

    @model_validator(mode="after")
    def _prepaid(self) -> "Pool":
        """A Capacity Block is paid whole before it begins, so a node of it costs nothing more."""
        if self.of_block:
            object.__setattr__(self, "price_per_hour", Decimal(0))
        return self

    @property
    def _of_bottlerocket(self) -> bool:
        return (self.image or "").startswith("bottlerocket@")

    def has(self, trait: Trait) -> bool:
        """Whether its kind has this."""
        return trait in KINDS[self.kind].traits

    @property
    def spot(self) -> bool:
        """Whether its nodes are Spot Instances that the lab buys."""
        return self.buy == "spot"

    @property
    def noun(self) -> str:
        """What people call the thing that holds its size: node group or NodePool."""
        return KINDS[self.kind].noun

    @property
    def derives_image(self) -> bool:
        """Whether its `ami_type` follows from its kind, in a pool that the lab creates."""
        return (
            not self.has("image type") and self.existing is None and "ami_type" not in self.model_fields_set
        )

    @property
    def last_grace(self) -> timedelta:
        """How long pods may take at closing: the terminationGracePeriod of a NodePool."""
        return LAST_GRACE if self.drain is None else self.drain

    @property
    def left_out(self) -> set[str]:
        """The keys that the normalised lab leaves out."""
        added = {name for name, default in ADDED.items() if getattr(self, name) == default}
        derived = {"ami_type": self.derives_image, "price_per_hour": self.of_block}
        return {*self.unstated, *added, *(name for name, is_derived in derived.items() if is_derived)}

    @property
    def unstated(self) -> list[str]:
        """The keys that an adopted pool leaves to AWS; their values are empty or 0 until they are read there."""
        if self.existing is None:
            return []
        stated = self.model_fields_set | ({"instance_type"} if self.instance_types else set())
        return [name for name in UNSTATED if name not in stated]

    @property
    def of_block(self) -> bool:
        """Whether its nodes come from a Capacity Block, which is paid before it begins."""
        return self.buy == "reserved" and self.reservation_type == "capacity-block"

    @property
    def types(self) -> tuple[str, ...]:
        """The instance types that its nodes may have; empty where AWS was not asked yet."""
        return tuple(self.instance_types) or ((self.instance_type,) if self.instance_type else ())

    @property
    def types_key(self) -> str:
        """The key of lab.yaml that has its types."""
        return "instance_types" if self.instance_types else "instance_type"

    @property
    def is_mixed(self) -> bool:
        """Whether its nodes may be of several types."""
        return len(self.types) > 1

    @property
    def zone_indexes(self) -> tuple[int, ...]:
        """The zones that its nodes may be in, as indexes of cluster.zones."""
        return tuple(self.zones) or (self.zone_index,)

    @property
    def brings_plugin(self) -> bool:
        """Whether its image has its own device plugin, which announces whole GPUs."""
        if self.has("built-in GPUs"):
            return True
        if self.ami_type == CUSTOM:
            return self.family == "bottlerocket"
        return self.ami_type.startswith("BOTTLEROCKET") and "NVIDIA" in self.ami_type

    @property
    def family(self) -> ImageFamily:
        """The family of its image."""
        return family(self.ami_type, self.image_family)

    @property
    def autoscaler_tags(self) -> dict[str, str]:
        """Tags that tell Cluster Autoscaler, at zero nodes, which label and taints a node would have."""
        tags = {
            f"{AUTOSCALER}/label/{key}": value
            for key, value in self.labels.items()
            if key == "nvidia.com/gpu"
        }
        taints = {f"{AUTOSCALER}/taint/{taint.key}": f"{taint.value}:{taint.effect}" for taint in self.taints}
        return tags | taints
