"""The security groups of control plane and nodes, with the lab's two switches for experiments.

The rules are those of the Terraform EKS module 21, which built the lab that ours comes from. Switching
`recommended_rules` or `aux_vpc_allow` off removes rules and keeps both groups; switching it on restores them.
"""

from aws_cdk import Tags
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from lamplighter.domain.gpu.dcgm_exporter import PORT

EVERYTHING = "-1"
ANYWHERE = "0.0.0.0/0"
WEBHOOK_PORTS = (4443, 6443, 8443, 9443, 10251)


class SecurityGroups(Construct):
    """`control_plane` is on the cluster; `nodes` and `auxiliary` are on every node."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        vpc_id: str,
        vpc_cidr: str,
        aux_vpc_allow: bool,
        recommended_rules: bool,
        asks_exporters: bool = False,
    ) -> None:
        """`asks_exporters`: the guard reads the DCGM exporters of nodes, through the control plane."""
        super().__init__(scope, construct_id)
        self.control_plane = ec2.CfnSecurityGroup(
            self, "ControlPlane", vpc_id=vpc_id, group_description="EKS cluster security group"
        )
        Tags.of(self.control_plane).add("Name", f"{name}-cluster")

        self.nodes = ec2.CfnSecurityGroup(
            self,
            "Node",
            vpc_id=vpc_id,
            group_description="EKS node shared security group",
            security_group_egress=[_all_egress("Allow all egress") if recommended_rules else no_egress()],
        )
        Tags.of(self.nodes).add("Name", f"{name}-node")
        Tags.of(self.nodes).add(f"kubernetes.io/cluster/{name}", "owned")

        self.auxiliary = ec2.CfnSecurityGroup(
            self,
            "Auxiliary",
            vpc_id=vpc_id,
            group_name=f"{name}-node-group-sg",
            group_description="Auxiliary security group for EKS Node Group (shared by system & GPU NG)",
            # Permanent: it keeps egress open while an experiment removes the node group's rules.
            security_group_egress=[_all_egress("Node egress to anywhere")],
        )
        Tags.of(self.auxiliary).add("Name", f"{name}-node-group-sg")

        self._base_rules()
        if asks_exporters:
            self._allow(
                "ApiToExporters", self.nodes, self.control_plane, PORT, "Cluster API to DCGM exporters"
            )
        if recommended_rules:
            self._recommended_rules()
        if aux_vpc_allow:
            ec2.CfnSecurityGroupIngress(
                self,
                "VpcToAuxiliary",
                group_id=self.auxiliary.attr_group_id,
                ip_protocol=EVERYTHING,
                cidr_ip=vpc_cidr,
                description="Everything from the VPC",
            )

    @property
    def of_nodes(self) -> list[str]:
        """The groups of a node. Never the EKS cluster's own group: its members may always reach each other."""
        return [self.nodes.attr_group_id, self.auxiliary.attr_group_id]

    def _base_rules(self) -> None:
        self._allow("NodesToApi", self.control_plane, self.nodes, 443, "Node groups to cluster API")
        self._allow("ApiToNodes443", self.nodes, self.control_plane, 443, "Cluster API to node groups")
        self._allow("ApiToKubelets", self.nodes, self.control_plane, 10250, "Cluster API to node kubelets")
        self._allow("DnsTcp", self.nodes, self.nodes, 53, "Node to node CoreDNS")
        self._allow("DnsUdp", self.nodes, self.nodes, 53, "Node to node CoreDNS UDP", protocol="udp")

    def _recommended_rules(self) -> None:
        for port in WEBHOOK_PORTS:
            self._allow(
                f"ApiToWebhooks{port}",
                self.nodes,
                self.control_plane,
                port,
                f"Cluster API to node {port}/tcp webhook",
            )
        self._allow(
            "NodesEphemeral",
            self.nodes,
            self.nodes,
            1025,
            "Node to node ingress on ephemeral ports",
            to_port=65535,
        )

    def _allow(
        self,
        construct_id: str,
        group: ec2.CfnSecurityGroup,
        source: ec2.CfnSecurityGroup,
        port: int,
        description: str,
        *,
        to_port: int | None = None,
        protocol: str = "tcp",
    ) -> None:
        ec2.CfnSecurityGroupIngress(
            self,
            construct_id,
            group_id=group.attr_group_id,
            source_security_group_id=source.attr_group_id,
            ip_protocol=protocol,
            from_port=port,
            to_port=to_port or port,
            description=description,
        )


def _all_egress(description: str) -> ec2.CfnSecurityGroup.EgressProperty:
    return ec2.CfnSecurityGroup.EgressProperty(
        ip_protocol=EVERYTHING, cidr_ip=ANYWHERE, description=description
    )


def no_egress(
    why: str = "No egress: the recommended rules are switched off",
) -> ec2.CfnSecurityGroup.EgressProperty:
    """A rule for a group without egress rules."""
    # CloudFormation adds an allow-all egress rule to a group without egress rules. A rule that matches no
    # address avoids that.
    return ec2.CfnSecurityGroup.EgressProperty(
        ip_protocol="icmp",
        from_port=252,
        to_port=86,
        cidr_ip="255.255.255.255/32",
        description=why,
    )
