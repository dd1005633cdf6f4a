"""The lab's network: one VPC, a public and a private subnet in each named zone, one NAT gateway.

It owns addresses, routes and the tags by which Kubernetes finds subnets for load balancers. It uses L1 resources,
because the lab names its address blocks.
"""

from collections.abc import Sequence

from aws_cdk import Tags
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.constructs.accepted import accept, accept_in_template

ANYWHERE = "0.0.0.0/0"


class Network(Construct):
    """`private_subnets` and `public_subnets` are in the order of the zones."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        cidr: str,
        zones: Sequence[str],
        public_blocks: Sequence[str],
        private_blocks: Sequence[str],
    ) -> None:
        super().__init__(scope, construct_id)
        self._name = name
        self.vpc = ec2.CfnVPC(
            self, "Vpc", cidr_block=cidr, enable_dns_support=True, enable_dns_hostnames=True
        )
        _name(self.vpc, f"{name}-VPC")
        accept(
            self.vpc,
            "VPC7",
            "The lab keeps no flow logs: one day of them costs more than the controller.",
        )
        self.vpc_id = self.vpc.attr_vpc_id

        gateway = ec2.CfnInternetGateway(self, "InternetGateway")
        _name(gateway, f"{name}-IGW")
        attachment = ec2.CfnVPCGatewayAttachment(
            self, "GatewayAttachment", vpc_id=self.vpc_id, internet_gateway_id=gateway.ref
        )

        public_routes = self._route_table("PublicRoutes", f"{name}-PublicRoutes")
        out = ec2.CfnRoute(
            self,
            "PublicDefaultRoute",
            route_table_id=public_routes.ref,
            destination_cidr_block=ANYWHERE,
            gateway_id=gateway.ref,
        )
        out.add_resource_dependency(attachment)
        self.public_subnets = [
            self._subnet(f"Public{index}", zone, block, public_routes, public=True)
            for index, (zone, block) in enumerate(zip(zones, public_blocks, strict=True), 1)
        ]

        address = ec2.CfnEIP(self, "NatAddress", domain="vpc")
        address.add_resource_dependency(attachment)
        _name(address, f"{name}-NAT")
        self.nat = ec2.CfnNatGateway(
            self, "Nat", subnet_id=self.public_subnets[0].ref, allocation_id=address.attr_allocation_id
        )
        self.nat.add_resource_dependency(out)
        _name(self.nat, f"{name}-NAT")

        private_routes = self._route_table("PrivateRoutes", f"{name}-PrivateRoutes")
        # Nodes that start earlier cannot pull their images.
        self.way_out = ec2.CfnRoute(
            self,
            "PrivateDefaultRoute",
            route_table_id=private_routes.ref,
            destination_cidr_block=ANYWHERE,
            nat_gateway_id=self.nat.ref,
        )
        self.private_subnets = [
            self._subnet(f"Private{index}", zone, block, private_routes, public=False)
            for index, (zone, block) in enumerate(zip(zones, private_blocks, strict=True), 1)
        ]

    def _route_table(self, construct_id: str, name: str) -> ec2.CfnRouteTable:
        table = ec2.CfnRouteTable(self, construct_id, vpc_id=self.vpc_id)
        _name(table, name)
        return table

    def _subnet(
        self, construct_id: str, zone: str, block: str, routes: ec2.CfnRouteTable, *, public: bool
    ) -> ec2.CfnSubnet:
        subnet = ec2.CfnSubnet(
            self,
            f"{construct_id}Subnet",
            vpc_id=self.vpc_id,
            availability_zone=zone,
            cidr_block=block,
            map_public_ip_on_launch=public,
        )
        accept_in_template(subnet, "W3010", "The lab names its zones, because a pool stays in one of them.")
        _name(subnet, f"{self._name}-{'Public' if public else 'Private'}Subnet")
        role = "kubernetes.io/role/elb" if public else "kubernetes.io/role/internal-elb"
        Tags.of(subnet).add(role, "1")
        ec2.CfnSubnetRouteTableAssociation(
            self, f"{construct_id}Routes", subnet_id=subnet.ref, route_table_id=routes.ref
        )
        return subnet


def _name(resource: Construct, name: str) -> None:
    Tags.of(resource).add("Name", name)
