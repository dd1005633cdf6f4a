"""The cluster: network, control plane, add-ons and system nodes, or the name of one that exists.

The defaults are the Terraform lab, value for value. Whether the values fit each other is for lab_rules.
"""

from typing import Annotated, Literal

from pydantic import Field

from lamplighter.lab.names import ADD_ON, AMI_TYPE, CLUSTER_NAME, INSTANCE_TYPE, KUBERNETES_VERSION
from lamplighter.lab.pools import PACKAGES, Taint
from lamplighter.lab.types import Part, Version, unit

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
    """From where the Kubernetes API answers."""

    public: bool = Field(True, description="Reachable from the internet, with IAM authentication.")
    private: bool = Field(True, description="Reachable from within the VPC.")


class SystemNodes(Part):
    """The node group that runs everything but GPU work; it is not under guard."""

    instance_type: str = Field("t3.medium", pattern=INSTANCE_TYPE, description="The EC2 instance type.")
    min_nodes: int = Field(1, ge=0, description="Never fewer.", json_schema_extra=unit("nodes"))
    nodes: int = Field(2, ge=1, description="How many to begin with.", json_schema_extra=unit("nodes"))
    max_nodes: int = Field(4, ge=1, description="Never more.", json_schema_extra=unit("nodes"))
    disk_gib: int = Field(
        30, ge=20, le=16384, description="The root volume of a node.", json_schema_extra=unit("GiB")
    )
    max_pods: int = Field(
        50,
        ge=4,
        le=250,
        description="Pods a node may run; more than its addresses allow, so vpc-cni delegates prefixes.",
        json_schema_extra=unit("pods"),
    )
    ami_type: str = Field(
        "AL2023_x86_64_STANDARD", pattern=AMI_TYPE, description="The kind of EKS-optimised image."
    )
    labels: dict[str, str] = Field(
        default_factory=lambda: {"tier": "primary"}, description="Labels on its nodes."
    )
    taints: list[Taint] = Field(default_factory=list, description="Taints on its nodes.")
    metadata_hop_limit: int = Field(
        2,
        ge=1,
        le=64,
        description="How far instance metadata (IMDSv2 only) may travel.",
        json_schema_extra=unit("hops"),
    )
    update_packages: bool = Field(True, description="Update all packages as a node starts.")
    packages: list[str] = Field(
        default_factory=lambda: list(PACKAGES), description="Packages installed on a node as it starts."
    )


class Cluster(Part):
    """The EKS cluster: created by us, or one that exists already."""

    existing: str | None = Field(
        None,
        pattern=CLUSTER_NAME,
        description="A cluster that exists already; then only the controller is deployed.",
        examples=["my-cluster"],
    )
    kubernetes_version: Annotated[Version, Field(pattern=KUBERNETES_VERSION)] = Field(
        "1.35", description="The Kubernetes version of the control plane and the nodes."
    )
    zones: list[str] = Field(
        default_factory=list,
        description="The availability zones, named; left out: the first three of the region.",
        json_schema_extra=unit("zone names"),
    )
    vpc: Vpc = Field(default_factory=Vpc, description="The network.")
    endpoint: Endpoint = Field(default_factory=Endpoint, description="From where the Kubernetes API answers.")
    logs: list[LogType] = Field(
        default_factory=lambda: list(LOGS), description="Control-plane logs kept in CloudWatch."
    )
    addons: list[Annotated[str, Field(pattern=ADD_ON)]] = Field(
        default_factory=lambda: list(ADDONS), description="EKS add-ons; vpc-cni comes before the nodes."
    )
    node_monitoring: bool = Field(
        False,
        description="The EKS add-on eks-node-monitoring-agent: it reports broken GPUs (XIDs) as a condition of the"
        " node, which the checks read.",
    )
    workload_identity: Literal["node", "pod"] = Field(
        "node",
        description="Where the rights of load-balancer controller, external-dns and autoscaler are: on the system"
        " nodes' role, or with their own service accounts alone; then instance metadata ends at the node (1 hop).",
    )
    system_nodes: SystemNodes = Field(
        default_factory=SystemNodes, description="The node group for everything but GPU work."
    )

    def hop_limit(self, stated: int) -> int:
        """How far instance metadata may travel: to no pod where pods have rights of their own."""
        return 1 if self.workload_identity == "pod" else stated

    @property
    def installed_addons(self) -> list[str]:
        """The add-ons, each once, with the one that node_monitoring asks for."""
        return list(dict.fromkeys([*self.addons, *([NODE_MONITORING] if self.node_monitoring else [])]))
