"""Who may talk to whom among control plane and nodes, with the lab's two experiment switches.

The rules are those of the Terraform EKS module 21 that the default lab is built with. Switching
`recommended_rules` or `aux_vpc_allow` off takes rules away and leaves both groups, so that the
experiment is undone by switching back on.
"""

from aws_cdk import Tags
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

EVERYTHING = "-1"
ANYWHERE = "0.0.0.0/0"
WEBHOOK_PORTS = (4443, 6443, 8443, 9443, 10251)


class SecurityGroups(Construct):
    """`control_plane` goes on the cluster; `nodes` and `auxiliary` on every node."""

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
    ) -> None:
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
            security_group_egress=[_all_egress("Allow all egress") if recommended_rules else _no_egress()],
        )
        Tags.of(self.nodes).add("Name", f"{name}-node")
        Tags.of(self.nodes).add(f"kubernetes.io/cluster/{name}", "owned")

        self.auxiliary = ec2.CfnSecurityGroup(
            self,
            "Auxiliary",
            vpc_id=vpc_id,
            group_name=f"{name}-node-group-sg",
            group_description="Auxiliary security group for EKS Node Group (shared by system & GPU NG)",
            # Permanent: it keeps the way out open while the experiment takes the node group's away.
            security_group_egress=[_all_egress("Node egress to anywhere")],
        )
        Tags.of(self.auxiliary).add("Name", f"{name}-node-group-sg")

        self._base_rules()
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
        """What a node carries. Never the cluster's own group: its members talk freely among themselves."""
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


def _no_egress() -> ec2.CfnSecurityGroup.EgressProperty:
    # CloudFormation gives a group without egress rules the rule "everything"; a rule that matches
    # nothing that exists is the way to have none.
    return ec2.CfnSecurityGroup.EgressProperty(
        ip_protocol="icmp",
        from_port=252,
        to_port=86,
        cidr_ip="255.255.255.255/32",
        description="No egress: the recommended rules are switched off",
    )
