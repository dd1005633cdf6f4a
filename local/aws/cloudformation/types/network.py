"""EC2 resources: VPCs with their parts, addresses, security groups, launch templates."""

from typing import Any

from local.aws.cloudformation.api_parameters import fitted
from local.aws.cloudformation.kinds import Kind, Order, Physical, Remove, tolerant


def _tags(order: Order, resource: str) -> dict[str, Any]:
    tags = order.get("Tags")
    return {"TagSpecifications": [{"ResourceType": resource, "Tags": tags}]} if tags else {}


def _retag(order: Order, physical: Physical, resource_id: str = "") -> Physical:
    target = [resource_id or physical.id]
    if "Tags" in order.changed():
        gone = {tag["Key"] for tag in order.old.get("Tags", [])} - {
            tag["Key"] for tag in order.get("Tags", [])
        }
        if gone:
            order.call("ec2", "delete_tags", Resources=target, Tags=[{"Key": key} for key in sorted(gone)])
        order.call("ec2", "create_tags", Resources=target, Tags=order.get("Tags", []))
    return physical


def _deleted(operation: str, key: str) -> Remove:
    def delete(order: Order, physical: Physical) -> None:
        tolerant(order, "ec2", operation, **{key: physical.id})

    return delete


def _vpc(order: Order) -> Physical:
    reply = order.shaped(
        "ec2", "create_vpc", "EnableDnsHostnames", "EnableDnsSupport", "Tags", **_tags(order, "vpc")
    )
    vpc = reply["Vpc"]["VpcId"]
    _vpc_dns(order, vpc)
    at_vpc = [{"Name": "vpc-id", "Values": [vpc]}]
    groups = order.call("ec2", "describe_security_groups", Filters=at_vpc)["SecurityGroups"]
    acls = order.call("ec2", "describe_network_acls", Filters=at_vpc)["NetworkAcls"]
    attributes = {
        "VpcId": vpc,
        "CidrBlock": order.get("CidrBlock"),
        "DefaultSecurityGroup": groups[0]["GroupId"],
        "DefaultNetworkAcl": acls[0]["NetworkAclId"],
    }
    return Physical(vpc, attributes)


def _vpc_dns(order: Order, vpc: str) -> None:
    for name in ("EnableDnsSupport", "EnableDnsHostnames"):
        if name in order.properties:
            value = {
                "Value": fitted("ec2", "modify_vpc_attribute", name, {"Value": order.get(name)})["Value"]
            }
            order.call("ec2", "modify_vpc_attribute", VpcId=vpc, **{name: value})


def _vpc_changed(order: Order, physical: Physical) -> Physical:
    _vpc_dns(order, physical.id)
    return _retag(order, physical)


def _subnet(order: Order) -> Physical:
    reply = order.shaped("ec2", "create_subnet", "MapPublicIpOnLaunch", "Tags", **_tags(order, "subnet"))[
        "Subnet"
    ]
    _subnet_addresses(order, reply["SubnetId"])
    names = ("SubnetId", "AvailabilityZone", "VpcId", "CidrBlock")
    return Physical(reply["SubnetId"], {name: reply[name] for name in names})


def _subnet_addresses(order: Order, subnet: str) -> None:
    public = str(order.get("MapPublicIpOnLaunch", False)).lower() == "true"
    order.call("ec2", "modify_subnet_attribute", SubnetId=subnet, MapPublicIpOnLaunch={"Value": public})


def _subnet_changed(order: Order, physical: Physical) -> Physical:
    _subnet_addresses(order, physical.id)
    return _retag(order, physical)


def _internet_gateway(order: Order) -> Physical:
    reply = order.call("ec2", "create_internet_gateway", **_tags(order, "internet-gateway"))
    gateway = reply["InternetGateway"]["InternetGatewayId"]
    return Physical(gateway, {"InternetGatewayId": gateway})


def _attachment(order: Order) -> Physical:
    order.shaped("ec2", "attach_internet_gateway")
    return Physical(f"IGW|{order.get('VpcId')}")


def _detached(order: Order, _: Physical) -> None:
    ids = {"InternetGatewayId": order.get("InternetGatewayId"), "VpcId": order.get("VpcId")}
    tolerant(order, "ec2", "detach_internet_gateway", **ids)


def _route_table(order: Order) -> Physical:
    reply = order.call("ec2", "create_route_table", VpcId=order.get("VpcId"), **_tags(order, "route-table"))
    table = reply["RouteTable"]["RouteTableId"]
    return Physical(table, {"RouteTableId": table})


def _route(order: Order) -> Physical:
    order.shaped("ec2", "create_route")
    return Physical(f"{order.get('RouteTableId')}|{order.get('DestinationCidrBlock')}")


def _route_deleted(order: Order, _: Physical) -> None:
    table, block = order.get("RouteTableId"), order.get("DestinationCidrBlock")
    tolerant(order, "ec2", "delete_route", RouteTableId=table, DestinationCidrBlock=block)


def _association(order: Order) -> Physical:
    reply = order.shaped("ec2", "associate_route_table")["AssociationId"]
    return Physical(reply, {"Id": reply})


def _address(order: Order) -> Physical:
    reply = order.shaped("ec2", "allocate_address", "Tags", **_tags(order, "elastic-ip"))
    names = ("AllocationId", "PublicIp")
    return Physical(reply["PublicIp"], {name: reply[name] for name in names})


def _address_released(order: Order, physical: Physical) -> None:
    tolerant(order, "ec2", "release_address", AllocationId=physical.attribute("AllocationId"))


def _address_changed(order: Order, physical: Physical) -> Physical:
    return _retag(order, physical, physical.attribute("AllocationId"))


def _nat_gateway(order: Order) -> Physical:
    reply = order.shaped("ec2", "create_nat_gateway", "Tags", **_tags(order, "natgateway"))
    gateway = reply["NatGateway"]["NatGatewayId"]
    return Physical(gateway, {"NatGatewayId": gateway})


def _launch_template(order: Order) -> Physical:
    name = order.name("LaunchTemplateName", 128)
    reply = order.shaped("ec2", "create_launch_template", "TagSpecifications", LaunchTemplateName=name)
    return _template_version(reply["LaunchTemplate"]["LaunchTemplateId"], 1)


def _launch_template_changed(order: Order, physical: Physical) -> Physical:
    if "LaunchTemplateData" not in order.changed():
        return physical
    data = fitted(
        "ec2", "create_launch_template_version", "LaunchTemplateData", order.get("LaunchTemplateData")
    )
    reply = order.call(
        "ec2", "create_launch_template_version", LaunchTemplateId=physical.id, LaunchTemplateData=data
    )
    return _template_version(physical.id, reply["LaunchTemplateVersion"]["VersionNumber"])


def _template_version(template: str, latest: int) -> Physical:
    versions = {"LatestVersionNumber": str(latest), "DefaultVersionNumber": "1"}
    return Physical(template, {"LaunchTemplateId": template, **versions})


def _placement_group(order: Order) -> Physical:
    """A name only: moto has no placement groups, and a launch here is never too far from another."""
    return Physical(f"{order.stack}-{order.logical_id}")


KINDS = {
    "AWS::EC2::PlacementGroup": Kind(
        _placement_group, None, lambda _order, _physical: None, frozenset({"Strategy"})
    ),
    "AWS::EC2::VPC": Kind(
        _vpc,
        _vpc_changed,
        _deleted("delete_vpc", "VpcId"),
        frozenset({"CidrBlock", "InstanceTenancy"}),
        "list",
    ),
    "AWS::EC2::Subnet": Kind(
        _subnet,
        _subnet_changed,
        _deleted("delete_subnet", "SubnetId"),
        frozenset({"AvailabilityZone", "CidrBlock", "VpcId"}),
        "list",
    ),
    "AWS::EC2::InternetGateway": Kind(
        _internet_gateway, _retag, _deleted("delete_internet_gateway", "InternetGatewayId"), tags="list"
    ),
    "AWS::EC2::VPCGatewayAttachment": Kind(_attachment, None, _detached),
    "AWS::EC2::RouteTable": Kind(
        _route_table, _retag, _deleted("delete_route_table", "RouteTableId"), frozenset({"VpcId"}), "list"
    ),
    "AWS::EC2::Route": Kind(_route, None, _route_deleted),
    "AWS::EC2::SubnetRouteTableAssociation": Kind(
        _association, None, _deleted("disassociate_route_table", "AssociationId")
    ),
    "AWS::EC2::EIP": Kind(_address, _address_changed, _address_released, frozenset({"Domain"}), "list"),
    "AWS::EC2::NatGateway": Kind(
        _nat_gateway,
        _retag,
        _deleted("delete_nat_gateway", "NatGatewayId"),
        frozenset({"SubnetId", "AllocationId", "ConnectivityType"}),
        "list",
    ),
    "AWS::EC2::LaunchTemplate": Kind(
        _launch_template,
        _launch_template_changed,
        _deleted("delete_launch_template", "LaunchTemplateId"),
        frozenset({"LaunchTemplateName"}),
    ),
}
