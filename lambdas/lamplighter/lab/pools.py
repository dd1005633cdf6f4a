"""Pools: the GPU capacity under guard. A pool of ours is a managed node group, created or adopted.

The defaults are the GPU node group of the Terraform lab, value for value.
"""

from typing import Literal

from pydantic import Field, model_validator

from lamplighter.lab.names import AMI_TYPE, AUTO_SCALING_GROUP, INSTANCE_TYPE, NODEGROUP_NAME
from lamplighter.lab.types import Amount, Part, Start, unit

GPU_LABELS = {"tier": "gpu", "nvidia.com/gpu": "true"}
PACKAGES = ["tree", "bind-utils", "tcpdump", "nvme-cli", "links", "sysstat", "ipset", "htop"]
AUTOSCALER = "k8s.io/cluster-autoscaler/node-template"

# What an adopted pool is without the value that only AWS knows: nothing is ever admitted on it.
UNSTATED = {"instance_type": "", "ami_type": "", "max_nodes": 0, "disk_gib": 0}


class Taint(Part):
    """A taint on the nodes of a group, in Kubernetes' words."""

    key: str = Field(min_length=1, max_length=63, description="Its key.", examples=["nvidia.com/gpu"])
    value: str = Field("", max_length=63, description="Its value; may be empty.", examples=["true"])
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        "NoSchedule", description="What it does to pods that do not tolerate it."
    )

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"


class Pool(Part):
    """GPU capacity under guard: a managed node group at zero nodes unless a lease says otherwise."""

    existing: str | None = Field(
        None,
        pattern=NODEGROUP_NAME,
        description="A node group that exists already, to adopt; what is then left out is read from AWS.",
        examples=["my-gpu-nodes"],
    )
    auto_scaling_group: str | None = Field(
        None,
        pattern=AUTO_SCALING_GROUP,
        description="The Auto Scaling group of an existing node group, where its name does not begin with"
        " eks-NODEGROUP-, as of those made before spring 2021; lamplighter adopt prints it.",
        examples=["eks-6eb9e8a0-1f2b-4c5d-8e9f-0a1b2c3d4e5f"],
    )
    instance_type: str = Field(
        "g5.xlarge",
        pattern=INSTANCE_TYPE,
        description="The EC2 instance type of its nodes.",
    )
    max_nodes: int = Field(
        2,
        ge=1,
        le=100,
        description="Nodes it may ever have; the default fits a quota of 8 vCPUs.",
        json_schema_extra=unit("nodes"),
    )
    price_per_hour: Amount | None = Field(
        None,
        description="What a node costs; left out: the table shipped with us, by region and type.",
        examples=["1.237"],
        json_schema_extra=unit("currency of the budget for a node and hour"),
    )
    ami_type: str = Field(
        "AL2023_x86_64_NVIDIA",
        pattern=AMI_TYPE,
        description="The kind of EKS-optimised image; it brings the NVIDIA driver and container toolkit.",
    )
    disk_gib: int = Field(
        100,
        ge=20,
        le=16384,
        description="The root volume of a node; GPU images are large.",
        json_schema_extra=unit("GiB"),
    )
    zone_index: int = Field(
        0,
        ge=0,
        description="Which of cluster.zones its nodes run in, from 0: one zone keeps NCCL traffic local.",
        json_schema_extra=unit("index"),
    )
    labels: dict[str, str] = Field(
        default_factory=lambda: dict(GPU_LABELS),
        description="Labels on its nodes, added to the default ones.",
    )
    taints: list[Taint] = Field(
        default_factory=lambda: [Taint(key="nvidia.com/gpu", value="true", effect="NoSchedule")],
        description="Taints on its nodes, which keep other work away from GPUs.",
    )
    metadata_hop_limit: int = Field(
        2,
        ge=1,
        le=64,
        description="How far instance metadata (IMDSv2 only) may travel.",
        json_schema_extra=unit("hops"),
    )
    packages: list[str] = Field(
        default_factory=lambda: [*PACKAGES, "pciutils"],
        description="Packages installed on a node as it starts.",
    )
    curfew: Start | None = Field(
        None,
        description="Its own curfew, in place of guard.curfew.",
        examples=["04:00"],
        json_schema_extra=unit("HH:MM, 00:00 to 23:59"),
    )

    how_to_use: str | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="What people read in Slack once it is open: where to log in, what to run, whom to ask."
        " A pod's YAML with its toleration and GPU limit is shown beside it anyway.",
        examples=["ssh class@bastion.example.com, then kubectl apply -f my-gpu-pod.yaml"],
        json_schema_extra=unit("text, 1000 characters at most"),
    )

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: object) -> object:
        """Labels are completed key by key; an adopted pool gets no default that AWS may contradict."""
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

    @property
    def unstated(self) -> list[str]:
        """What an adopted pool leaves to AWS; such a value is empty or 0 until read there."""
        if self.existing is None:
            return []
        return [name for name in UNSTATED if name not in self.model_fields_set]

    @property
    def brings_plugin(self) -> bool:
        """Whether its image has a device plugin of its own, which announces GPUs whole."""
        return self.ami_type.startswith("BOTTLEROCKET") and "NVIDIA" in self.ami_type

    @property
    def autoscaler_tags(self) -> dict[str, str]:
        """What tells Cluster Autoscaler, at zero nodes, which label and taints a node would have."""
        tags = {
            f"{AUTOSCALER}/label/{key}": value
            for key, value in self.labels.items()
            if key == "nvidia.com/gpu"
        }
        taints = {f"{AUTOSCALER}/taint/{taint.key}": f"{taint.value}:{taint.effect}" for taint in self.taints}
        return tags | taints
