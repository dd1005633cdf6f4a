"""The cluster: network, control plane, add-ons and system nodes, or the name of an existing one.

The defaults are those of the Terraform lab. labfile/rules checks whether the values fit each other.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from lamplighter.lab.names import (
    ADD_ON,
    AMI_TYPE,
    CLUSTER_NAME,
    INSTANCE_TYPE,
    POOL_NAME,
)
from lamplighter.lab.nodes.images import ImageFamily, family, image_family_field, image_field
from lamplighter.lab.nodes.karpenter import AutoMode, Karpenter
from lamplighter.lab.nodes.node_groups import NodeGroup
from lamplighter.lab.pools import PACKAGES, Package, Taint
from lamplighter.lab.types import KubernetesVersion, Part, change, unit

NODE_MONITORING = "eks-node-monitoring-agent"
ADDONS = [
    "coredns",
    "kube-proxy",
    "vpc-cni",
    "metrics-server",
    "external-dns",
    "eks-pod-identity-agent",
    "cert-manager",
]
LogType = Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]
LOGS: list[LogType] = ["api", "scheduler"]


GroupName = Annotated[str, StringConstraints(pattern=POOL_NAME)]


class Vpc(Part):
    """The network of a cluster that we create; nodes live in the private subnets."""

    cidr: str = Field(
        "192.168.0.0/16", description="The address range of the VPC.", json_schema_extra=unit("CIDR")
    )
    public_subnets: list[str] = Field(
        default_factory=lambda: ["192.168.0.0/22", "192.168.4.0/22", "192.168.8.0/22"],
        description="One public subnet a zone, in the order of the zones.",
        json_schema_extra=unit("CIDR"),
    )
    private_subnets: list[str] = Field(
        default_factory=lambda: ["192.168.12.0/22", "192.168.16.0/22", "192.168.20.0/22"],
        description="One private subnet a zone, in the order of the zones.",
        json_schema_extra=unit("CIDR"),
    )


class Endpoint(Part):
    """From where the Kubernetes API can be reached."""

    public: bool = Field(True, description="Reachable from the internet, with IAM authentication.")
    private: bool = Field(True, description="Reachable from within the VPC.")


class SystemNodes(Part):
    """The node group for everything but GPU work; the guard leaves it alone."""

    instance_type: str = Field(
        "t3.medium",
        pattern=INSTANCE_TYPE,
        description="The EC2 instance type.",
        json_schema_extra=change("rolled"),
    )
    min_nodes: int = Field(
        1, ge=0, description="The least number of nodes.", json_schema_extra=unit("nodes", "in place")
    )
    nodes: int = Field(
        2, ge=1, description="The number of nodes at first.", json_schema_extra=unit("nodes", "in place")
    )
    max_nodes: int = Field(
        4, ge=1, description="The greatest number of nodes.", json_schema_extra=unit("nodes", "in place")
    )
    disk_gib: int = Field(
        30,
        ge=20,
        le=16384,
        description="The size of a node's root volume.",
        json_schema_extra=unit("GiB", "rolled"),
    )
    max_pods: int = Field(
        50,
        ge=4,
        le=250,
        description="The most pods of a node; vpc-cni delegates prefixes, because the node has fewer addresses.",
        json_schema_extra=unit("pods", "rolled"),
    )
    ami_type: str = Field(
        "AL2023_x86_64_STANDARD",
        pattern=AMI_TYPE,
        description="The kind of EKS-optimised image; CUSTOM for one of yours.",
        json_schema_extra=change("replaced"),
    )
    image: str | None = image_field()
    image_family: ImageFamily | None = image_family_field()
    labels: dict[str, str] = Field(
        default_factory=lambda: {"tier": "primary"},
        description="Labels on its nodes.",
        json_schema_extra=change("in place"),
    )
    taints: list[Taint] = Field(
        default_factory=list, description="Taints on its nodes.", json_schema_extra=change("in place")
    )
    metadata_hop_limit: int = Field(
        2,
        ge=1,
        le=64,
        description="The hop limit of instance metadata (IMDSv2 only).",
        json_schema_extra=unit("hops", "rolled"),
    )
    update_packages: bool = Field(
        True, description="Update all packages when a node starts.", json_schema_extra=change("rolled")
    )
    packages: list[Package] = Field(
        default_factory=lambda: list(PACKAGES),
        description="Packages to install when a node starts.",
        json_schema_extra=change("rolled"),
    )

    @property
    def family(self) -> ImageFamily:
        """The family of its image."""
        return family(self.ami_type, self.image_family)


class Cluster(Part):
    """The EKS cluster: created by us, or one that exists already."""

    existing: str | None = Field(
        None,
        pattern=CLUSTER_NAME,
        description="The name of an existing cluster; then only the controller is deployed.",
        examples=["my-cluster"],
    )
    kubernetes_version: KubernetesVersion = Field(
        "1.35",
        description="The Kubernetes version of the control plane and the nodes.",
        json_schema_extra=change("rolled"),
    )
    zones: list[str] = Field(
        default_factory=list,
        description="The availability zones, named; left out: the first three of the region.",
        json_schema_extra=unit("zone names"),
    )
    vpc: Vpc = Field(default_factory=Vpc, description="The network.")
    endpoint: Endpoint = Field(
        default_factory=Endpoint, description="From where the Kubernetes API can be reached."
    )
    logs: list[LogType] = Field(
        default_factory=lambda: list(LOGS), description="The control-plane logs to keep in CloudWatch."
    )
    addons: list[Annotated[str, Field(pattern=ADD_ON)]] = Field(
        default_factory=lambda: list(ADDONS),
        description="EKS add-ons; vpc-cni is installed before the nodes.",
    )
    node_monitoring: bool = Field(
        False,
        description="Install the EKS add-on eks-node-monitoring-agent: it reports broken GPUs (XIDs) as a condition of"
        " the node, which the checks read.",
    )
    workload_identity: Literal["node", "pod"] = Field(
        "node",
        description="Who has the AWS rights of load-balancer controller, external-dns and autoscaler. node: the role"
        " of the system nodes. pod: their own service accounts; the hop limit of metadata is then 1.",
        json_schema_extra=change("rolled"),
    )
    system_nodes: SystemNodes = Field(
        default_factory=SystemNodes, description="The node group for everything but GPU work."
    )
    node_groups: dict[GroupName, NodeGroup] = Field(
        default_factory=dict,
        description="More node groups, by name; they are always on, and the guard leaves them alone.",
        examples=[{"linux": {"ami_type": "BOTTLEROCKET_x86_64"}}],
    )
    karpenter: Karpenter | None = Field(
        None, description="Karpenter, for pools of that kind; left out: none."
    )
    auto_mode: AutoMode | None = Field(
        None, description="EKS Auto Mode, for pools of that kind; left out: off."
    )

    @property
    def left_out(self) -> dict[str, Any]:
        """The keys that the normalised lab leaves out."""
        groups = {} if self.node_groups else {"node_groups": True}
        no_version = {"karpenter": {"version"}} if self.karpenter and self.karpenter.existing else {}
        return {**groups, **no_version}

    @property
    def has_auto_mode(self) -> bool:
        """Whether EKS Auto Mode is on."""
        return self.auto_mode is not None and self.auto_mode.enabled

    def hop_limit(self, stated: int) -> int:
        """The hop limit of instance metadata: 1 if pods have permissions of their own."""
        return 1 if self.workload_identity == "pod" else stated

    @property
    def has_windows(self) -> bool:
        """Whether a node group of the lab runs Windows."""
        return any(group.family == "windows" for group in self.node_groups.values())

    @property
    def installed_addons(self) -> list[str]:
        """The add-ons, each once, with the node monitoring agent if the lab asks for it."""
        return list(dict.fromkeys([*self.addons, *([NODE_MONITORING] if self.node_monitoring else [])]))
