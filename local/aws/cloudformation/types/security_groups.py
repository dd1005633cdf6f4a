"""EC2 security groups, with their rules written inside them or as resources of their own."""

from typing import Any

from local.aws.cloudformation.kinds import Kind, Order, Physical, tolerant

EVERYTHING = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
RULES = {"SecurityGroupIngress": "ingress", "SecurityGroupEgress": "egress"}


def _permission(rule: dict[str, Any]) -> dict[str, Any]:
    """A template's rule as the API's permission."""
    description = {"Description": rule["Description"]} if "Description" in rule else {}
    permission: dict[str, Any] = {"IpProtocol": str(rule["IpProtocol"])}
    for port in ("FromPort", "ToPort"):
        if port in rule:
            permission[port] = int(rule[port])
    peer = rule.get("SourceSecurityGroupId") or rule.get("DestinationSecurityGroupId")
    prefix_list = rule.get("SourcePrefixListId") or rule.get("DestinationPrefixListId")
    if "CidrIp" in rule:
        permission["IpRanges"] = [{"CidrIp": rule["CidrIp"], **description}]
    elif "CidrIpv6" in rule:
        permission["Ipv6Ranges"] = [{"CidrIpv6": rule["CidrIpv6"], **description}]
    elif peer:
        permission["UserIdGroupPairs"] = [{"GroupId": peer, **description}]
    elif prefix_list:
        permission["PrefixListIds"] = [{"PrefixListId": prefix_list, **description}]
    else:
        raise ValueError(f"a security group rule names nobody: {rule}")
    return permission


def _group(order: Order) -> Physical:
    tags = order.get("Tags")
    specification = {"TagSpecifications": [{"ResourceType": "security-group", "Tags": tags}]} if tags else {}
    reply = order.call(
        "ec2",
        "create_security_group",
        GroupName=order.name("GroupName", 255),
        Description=order.get("GroupDescription"),
        VpcId=order.get("VpcId"),
        **specification,
    )
    group = reply["GroupId"]
    if order.get("SecurityGroupEgress"):
        order.call("ec2", "revoke_security_group_egress", GroupId=group, IpPermissions=[EVERYTHING])
    for name, direction in RULES.items():
        _authorize(order, direction, group, order.get(name, []))
    return Physical(group, {"GroupId": group, "Id": group, "VpcId": order.get("VpcId")})


def _group_changed(order: Order, physical: Physical) -> Physical:
    for name, direction in RULES.items():
        old, new = order.old.get(name, []), order.get(name, [])
        for rule in old:
            if rule not in new:
                permissions = [_permission(rule)]
                tolerant(
                    order,
                    "ec2",
                    f"revoke_security_group_{direction}",
                    GroupId=physical.id,
                    IpPermissions=permissions,
                )
        _authorize(order, direction, physical.id, [rule for rule in new if rule not in old])
    if "Tags" in order.changed() and order.get("Tags"):
        order.call("ec2", "create_tags", Resources=[physical.id], Tags=order.get("Tags"))
    return physical


def _authorize(order: Order, direction: str, group: str, rules: list[dict[str, Any]]) -> list[str]:
    if not rules:
        return []
    permissions = [_permission(rule) for rule in rules]
    reply = order.call(
        "ec2", f"authorize_security_group_{direction}", GroupId=group, IpPermissions=permissions
    )
    return [rule["SecurityGroupRuleId"] for rule in reply.get("SecurityGroupRules", [])]


def _group_deleted(order: Order, physical: Physical) -> None:
    tolerant(order, "ec2", "delete_security_group", GroupId=physical.id)


def _rule(direction: str) -> Kind:
    def create(order: Order) -> Physical:
        rules = _authorize(order, direction, order.get("GroupId"), [dict(order.properties)])
        return Physical(rules[0], {"Id": rules[0]})

    def delete(order: Order, _: Physical) -> None:
        permissions = [_permission(dict(order.properties))]
        group = order.get("GroupId")
        tolerant(order, "ec2", f"revoke_security_group_{direction}", GroupId=group, IpPermissions=permissions)

    return Kind(create, None, delete)


KINDS = {
    "AWS::EC2::SecurityGroup": Kind(
        _group, _group_changed, _group_deleted, frozenset({"GroupName", "GroupDescription", "VpcId"}), "list"
    ),
    "AWS::EC2::SecurityGroupIngress": _rule("ingress"),
    "AWS::EC2::SecurityGroupEgress": _rule("egress"),
}
