"""IAM resources: roles, policies, identity providers, instance profiles."""

import json
from collections.abc import Iterable
from typing import Any

from local.aws.cloudformation.kinds import Kind, Order, Physical, tolerant


def _role(order: Order) -> Physical:
    name = order.name("RoleName")
    leave = ("Policies", "ManagedPolicyArns", "RoleName")
    reply = order.shaped("iam", "create_role", *leave, RoleName=name)["Role"]
    _role_policies(order, name)
    return Physical(name, {"Arn": reply["Arn"], "RoleId": reply["RoleId"]})


def _role_changed(order: Order, physical: Physical) -> Physical:
    if "AssumeRolePolicyDocument" in order.changed():
        trust = json.dumps(order.get("AssumeRolePolicyDocument"))
        order.call("iam", "update_assume_role_policy", RoleName=physical.id, PolicyDocument=trust)
    if "Description" in order.changed():
        order.call("iam", "update_role", RoleName=physical.id, Description=order.get("Description", ""))
    if "PermissionsBoundary" in order.changed():
        boundary = order.get("PermissionsBoundary")
        verb, more = ("put", {"PermissionsBoundary": boundary}) if boundary else ("delete", {})
        order.call("iam", f"{verb}_role_permissions_boundary", RoleName=physical.id, **more)
    if "Tags" in order.changed() and order.get("Tags"):
        order.call("iam", "tag_role", RoleName=physical.id, Tags=order.get("Tags"))
    _role_policies(order, physical.id)
    return physical


def _role_policies(order: Order, role: str) -> None:
    """Makes the inline and attached policies of the role those of the properties."""
    inline = {policy["PolicyName"]: policy["PolicyDocument"] for policy in order.get("Policies", [])}
    for policy in order.old.get("Policies", []):
        if policy["PolicyName"] not in inline:
            tolerant(order, "iam", "delete_role_policy", RoleName=role, PolicyName=policy["PolicyName"])
    for name, document in inline.items():
        text = json.dumps(document)
        order.call("iam", "put_role_policy", RoleName=role, PolicyName=name, PolicyDocument=text)
    attached, before = order.get("ManagedPolicyArns", []), order.old.get("ManagedPolicyArns", [])
    for arn in before:
        if arn not in attached:
            tolerant(order, "iam", "detach_role_policy", RoleName=role, PolicyArn=arn)
    for arn in attached:
        if arn not in before:
            order.call("iam", "attach_role_policy", RoleName=role, PolicyArn=arn)


def _role_deleted(order: Order, physical: Physical) -> None:
    """With the policies of its own properties. IAM keeps a role that somebody has given another one."""
    role = physical.id
    for policy in order.get("Policies", []):
        tolerant(order, "iam", "delete_role_policy", RoleName=role, PolicyName=policy["PolicyName"])
    for arn in order.get("ManagedPolicyArns", []):
        tolerant(order, "iam", "detach_role_policy", RoleName=role, PolicyArn=arn)
    tolerant(order, "iam", "delete_role", RoleName=role)


def _policy(order: Order) -> Physical:
    _only_roles(order)
    _put_policy(order, order.get("Roles", []))
    return Physical(f"{order.stack}-{order.logical_id}", {"Id": order.get("PolicyName")})


def _policy_changed(order: Order, physical: Physical) -> Physical:
    _only_roles(order)
    _put_policy(order, order.get("Roles", []))
    _drop_policy(order, set(order.old.get("Roles", [])) - set(order.get("Roles", [])))
    return physical


def _policy_deleted(order: Order, _: Physical) -> None:
    _drop_policy(order, order.get("Roles", []))


def _put_policy(order: Order, roles: Iterable[str]) -> None:
    document = json.dumps(order.get("PolicyDocument"))
    for role in roles:
        name = order.get("PolicyName")
        order.call("iam", "put_role_policy", RoleName=role, PolicyName=name, PolicyDocument=document)


def _drop_policy(order: Order, roles: Iterable[str]) -> None:
    for role in roles:
        tolerant(order, "iam", "delete_role_policy", RoleName=role, PolicyName=order.get("PolicyName"))


def _only_roles(order: Order) -> None:
    if order.get("Users") or order.get("Groups"):
        raise ValueError("policies of users and groups are not known to the embedded cloud")


def _managed_policy(order: Order) -> Physical:
    _only_roles(order)
    request: dict[str, Any] = {
        "PolicyName": order.name("ManagedPolicyName", 128),
        "Path": order.get("Path", "/"),
        "Description": order.get("Description", ""),
        "PolicyDocument": json.dumps(order.get("PolicyDocument")),
    }
    arn = order.call("iam", "create_policy", **request)["Policy"]["Arn"]
    _attach(order, arn)
    return Physical(arn, {"PolicyArn": arn, "Arn": arn})


def _managed_policy_changed(order: Order, physical: Physical) -> Physical:
    if "PolicyDocument" in order.changed():
        for version in order.call("iam", "list_policy_versions", PolicyArn=physical.id)["Versions"]:
            if not version["IsDefaultVersion"]:
                request = {"PolicyArn": physical.id, "VersionId": version["VersionId"]}
                order.call("iam", "delete_policy_version", **request)
        document = json.dumps(order.get("PolicyDocument"))
        order.call(
            "iam", "create_policy_version", PolicyArn=physical.id, PolicyDocument=document, SetAsDefault=True
        )
    for role in set(order.old.get("Roles", [])) - set(order.get("Roles", [])):
        tolerant(order, "iam", "detach_role_policy", RoleName=role, PolicyArn=physical.id)
    _attach(order, physical.id)
    return physical


def _attach(order: Order, arn: str) -> None:
    for role in order.get("Roles", []):
        order.call("iam", "attach_role_policy", RoleName=role, PolicyArn=arn)


def _managed_policy_deleted(order: Order, physical: Physical) -> None:
    held = tolerant(order, "iam", "list_entities_for_policy", PolicyArn=physical.id)
    for role in held.get("PolicyRoles", []):
        tolerant(order, "iam", "detach_role_policy", RoleName=role["RoleName"], PolicyArn=physical.id)
    for version in tolerant(order, "iam", "list_policy_versions", PolicyArn=physical.id).get("Versions", []):
        if not version["IsDefaultVersion"]:
            request = {"PolicyArn": physical.id, "VersionId": version["VersionId"]}
            tolerant(order, "iam", "delete_policy_version", **request)
    tolerant(order, "iam", "delete_policy", PolicyArn=physical.id)


def _identity_provider(order: Order) -> Physical:
    # AWS finds the thumbprint itself if none is given; moto needs one.
    thumbprints = order.get("ThumbprintList") or ["0" * 40]
    leave = ("Tags", "ThumbprintList")
    reply = order.shaped("iam", "create_open_id_connect_provider", *leave, ThumbprintList=thumbprints)
    arn = reply["OpenIDConnectProviderArn"]
    return Physical(arn, {"Arn": arn})


def _identity_provider_deleted(order: Order, physical: Physical) -> None:
    tolerant(order, "iam", "delete_open_id_connect_provider", OpenIDConnectProviderArn=physical.id)


def _instance_profile(order: Order) -> Physical:
    name = order.name("InstanceProfileName", 128)
    reply = order.call(
        "iam", "create_instance_profile", InstanceProfileName=name, Path=order.get("Path", "/")
    )
    for role in order.get("Roles", []):
        order.call("iam", "add_role_to_instance_profile", InstanceProfileName=name, RoleName=role)
    return Physical(name, {"Arn": reply["InstanceProfile"]["Arn"]})


def _instance_profile_deleted(order: Order, physical: Physical) -> None:
    name = physical.id
    for role in order.get("Roles", []):
        tolerant(order, "iam", "remove_role_from_instance_profile", InstanceProfileName=name, RoleName=role)
    tolerant(order, "iam", "delete_instance_profile", InstanceProfileName=name)


KINDS = {
    "AWS::IAM::Role": Kind(_role, _role_changed, _role_deleted, frozenset({"RoleName", "Path"}), "list"),
    "AWS::IAM::Policy": Kind(_policy, _policy_changed, _policy_deleted, frozenset({"PolicyName"})),
    "AWS::IAM::ManagedPolicy": Kind(
        _managed_policy,
        _managed_policy_changed,
        _managed_policy_deleted,
        frozenset({"ManagedPolicyName", "Path", "Description"}),
    ),
    "AWS::IAM::OIDCProvider": Kind(_identity_provider, None, _identity_provider_deleted),
    "AWS::IAM::InstanceProfile": Kind(_instance_profile, None, _instance_profile_deleted),
}
