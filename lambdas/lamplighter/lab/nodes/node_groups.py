"""Node groups beside the system nodes that are always on. They are no pools, and the guard leaves them alone.

The defaults are those of the node groups of document 003; labfile/rules/node_groups.py checks the values.
"""

from pydantic import Field, model_validator

from lamplighter.lab.names import AMI_TYPE, INSTANCE_TYPE
from lamplighter.lab.nodes.images import ImageFamily, family, image_family_field, image_field
from lamplighter.lab.pools import Package, Taint
from lamplighter.lab.types import Part, change, unit

DISK_GIB, WINDOWS_DISK_GIB = 20, 50
"""EKS's own sizes of a node's disk (CreateNodegroup, diskSize)."""


class NodeGroup(Part):
    """A node group that is always on, for work without GPUs."""

    ami_type: str = Field(
        "AL2023_x86_64_STANDARD",
        pattern=AMI_TYPE,
        description="The kind of EKS-optimised image: Amazon Linux, Bottlerocket or Windows; CUSTOM for one of yours.",
        examples=["BOTTLEROCKET_x86_64"],
        json_schema_extra=change("replaced"),
    )
    image: str | None = image_field()
    image_family: ImageFamily | None = image_family_field()
    instance_type: str = Field(
        "m5.large",
        pattern=INSTANCE_TYPE,
        description="The EC2 instance type of its nodes; types with an NVIDIA GPU belong to a pool.",
        json_schema_extra=change("rolled"),
    )
    min_nodes: int = Field(
        1, ge=0, description="The least number of nodes.", json_schema_extra=unit("nodes", "in place")
    )
    nodes: int = Field(
        2, ge=0, description="The number of nodes at first.", json_schema_extra=unit("nodes", "in place")
    )
    max_nodes: int = Field(
        4,
        ge=1,
        le=450,
        description="The greatest number of nodes.",
        json_schema_extra=unit("nodes", "in place"),
    )
    disk_gib: int = Field(
        DISK_GIB,
        ge=20,
        le=16384,
        description="The size of a node's disk; on Bottlerocket that of the second disk, which has images and pods."
        " Left out: 20, and 50 on Windows.",
        json_schema_extra=unit("GiB", "rolled"),
    )
    max_pods: int | None = Field(
        None,
        ge=4,
        le=250,
        description="The most pods of a node; left out: as many as the type has addresses for.",
        examples=[50],
        json_schema_extra=unit("pods", "rolled"),
    )
    labels: dict[str, str] = Field(
        default_factory=dict, description="Labels on its nodes.", json_schema_extra=change("in place")
    )
    taints: list[Taint] = Field(
        default_factory=list,
        description="Taints on its nodes; one on a Windows group keeps pods for Linux away.",
        json_schema_extra=change("in place"),
    )
    packages: list[Package] = Field(
        default_factory=list,
        description="Packages to install when a node starts; only Amazon Linux has a package manager.",
        json_schema_extra=change("rolled"),
    )

    @model_validator(mode="after")
    def _windows_needs_more(self) -> "NodeGroup":
        if self.family == "windows" and "disk_gib" not in self.model_fields_set:
            object.__setattr__(self, "disk_gib", WINDOWS_DISK_GIB)
        return self

    @property
    def family(self) -> ImageFamily:
        """The family of its image."""
        return family(self.ami_type, self.image_family)
