"""EKS resources. As on AWS, CloudFormation waits for them, in virtual time."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from local.aws.cloudformation.api_parameters import fitted
from local.aws.cloudformation.kinds import Failed, Kind, Order, Physical, is_absent, tolerant

#: Virtual seconds between two reads, and after which CloudFormation gives up.
LOOK_EVERY = 10.0
#: The settings that switch Auto Mode.
AUTO_MODE = frozenset({"ComputeConfig", "KubernetesNetworkConfig", "StorageConfig"})
GIVE_UP_AFTER = 3600.0


def _until(order: Order, what: str, done: Callable[[], bool]) -> None:
    clock = order.around.clock
    deadline = clock.time() + GIVE_UP_AFTER
    while not done():
        if clock.time() > deadline:
            raise Failed(f"{what} did not stabilize within {GIVE_UP_AFTER / 60:.0f} minutes")
        clock.sleep(LOOK_EVERY)


def settled(order: Order, operation: str, key: str, **request: Any) -> dict[str, Any]:
    """Waits until the resource that `operation` describes is ACTIVE.

    Raises Failed with its health issues if it never will be.
    """
    found: dict[str, Any] = {}

    def look() -> bool:
        found.update(order.call("eks", operation, **request)[key])
        if found["status"].endswith("FAILED"):
            issues = "; ".join(i.get("message", "") for i in found.get("health", {}).get("issues", []))
            raise Failed(f"{order.logical_id} is {found['status']}: {issues}")
        return bool(found["status"] in {"ACTIVE", "DEGRADED"})

    _until(order, order.logical_id, look)
    return found


def gone(order: Order, operation: str, **request: Any) -> None:
    """Waits until the describe call says that the resource does not exist."""

    def look() -> bool:
        return not tolerant(order, "eks", operation, **request)

    _until(order, order.logical_id, look)


def updated(order: Order, update: dict[str, Any], **target: str) -> None:
    """Waits until an update is finished. Raises Failed with its errors if it failed."""

    def look() -> bool:
        found = order.call("eks", "describe_update", updateId=update["id"], **target)["update"]
        if found["status"] in {"Failed", "Cancelled"}:
            reasons = "; ".join(error.get("errorMessage", "") for error in found.get("errors", []))
            raise Failed(f"update {found['status']}: {reasons}")
        return bool(found["status"] == "Successful")

    _until(order, order.logical_id, look)


def retag(order: Order, arn: str) -> None:
    if "Tags" not in order.changed():
        return
    new, old = (
        fitted("eks", "tag_resource", "tags", p.get("Tags", {})) for p in (order.properties, order.old)
    )
    gone = [key for key in old if key not in new]
    if gone:
        order.call("eks", "untag_resource", resourceArn=arn, tagKeys=gone)
    if new:
        order.call("eks", "tag_resource", resourceArn=arn, tags=new)


def _cluster_parameters(order: Order) -> dict[str, Any]:
    enabled = ((order.get("Logging") or {}).get("ClusterLogging") or {}).get("EnabledTypes")
    if not enabled:
        return {}
    return {"logging": {"clusterLogging": [{"types": [kind["Type"] for kind in enabled], "enabled": True}]}}


def _cluster(order: Order) -> Physical:
    name = order.name("Name", 100)
    order.shaped("eks", "create_cluster", "Name", "Logging", name=name, **_cluster_parameters(order))
    cluster = settled(order, "describe_cluster", "cluster", name=name)
    vpc = cluster.get("resourcesVpcConfig", {})
    attributes = {
        "Arn": cluster["arn"],
        "Id": name,
        "Endpoint": cluster.get("endpoint", ""),
        "CertificateAuthorityData": (cluster.get("certificateAuthority") or {}).get("data", ""),
        "ClusterSecurityGroupId": vpc.get("clusterSecurityGroupId", ""),
        "OpenIdConnectIssuerUrl": ((cluster.get("identity") or {}).get("oidc") or {}).get("issuer", ""),
        "EncryptionConfigKeyArn": "",
        "KubernetesNetworkConfig.ServiceIpv6Cidr": "",
    }
    return Physical(name, attributes)


def _cluster_changed(order: Order, physical: Physical) -> Physical:
    changed, name = order.changed(), physical.id
    # EKS user guide, rollback-cluster: a rollback of the stack takes no control plane back.
    if "Version" in changed and not order.taken_back:
        reply = order.call("eks", "update_cluster_version", name=name, version=order.get("Version"))
        updated(order, reply["update"], name=name)
    for member in ("ResourcesVpcConfig", "AccessConfig", "UpgradePolicy"):
        if member in changed:
            key = member[0].lower() + member[1:]
            value = fitted("eks", "update_cluster_config", key, _updatable(member, order.get(member)))
            reply = order.call("eks", "update_cluster_config", name=name, **{key: value})
            updated(order, reply["update"], name=name)
    request = _auto_mode(order) if changed & AUTO_MODE else {}
    if request:
        reply = order.call("eks", "update_cluster_config", name=name, **request)
        updated(order, reply["update"], name=name)
    if "Logging" in changed:
        reply = order.call("eks", "update_cluster_config", name=name, **_cluster_parameters(order))
        updated(order, reply["update"], name=name)
    retag(order, physical.attribute("Arn"))
    return physical


def _auto_mode(order: Order) -> dict[str, Any]:
    """The settings of Auto Mode, which EKS takes only together. Raises Failed for a change of the services' range."""
    old, new = (each.get("KubernetesNetworkConfig") or {} for each in (order.old, order.properties))
    fixed = ("ServiceIpv4Cidr", "IpFamily")
    if [old.get(key) for key in fixed] != [new.get(key) for key in fixed]:
        raise Failed(f"{order.logical_id}: the network of the services cannot be changed")
    given = {member: order.get(member) for member in sorted(AUTO_MODE) if order.get(member)}
    if "KubernetesNetworkConfig" in given:
        given["KubernetesNetworkConfig"] = {key: each for key, each in new.items() if key not in fixed}
    names = {member: member[0].lower() + member[1:] for member in given}
    return {
        names[member]: fitted("eks", "update_cluster_config", names[member], value)
        for member, value in given.items()
        if value
    }


def _updatable(member: str, value: dict[str, Any]) -> dict[str, Any]:
    fixed = {"SecurityGroupIds", "SubnetIds"} if member == "ResourcesVpcConfig" else set()
    fixed |= {"BootstrapClusterCreatorAdminPermissions"}
    return {key: inner for key, inner in value.items() if key not in fixed}


def _cluster_deleted(order: Order, physical: Physical) -> None:
    tolerant(order, "eks", "delete_cluster", name=physical.id)
    gone(order, "describe_cluster", name=physical.id)


def _add_on(order: Order) -> Physical:
    order.shaped("eks", "create_addon", "PreserveOnDelete")
    names = _add_on_names(order)
    arn = settled(order, "describe_addon", "addon", **names)["addonArn"]
    return Physical(f"{names['clusterName']}|{names['addonName']}", {"Arn": arn})


def _add_on_names(order: Order) -> dict[str, str]:
    return {"clusterName": order.get("ClusterName"), "addonName": order.get("AddonName")}


def _add_on_changed(order: Order, physical: Physical) -> Physical:
    if order.changed() - {"Tags", "PreserveOnDelete"}:
        reply = order.shaped("eks", "update_addon", "PreserveOnDelete", "Tags", "NamespaceConfig")
        names = _add_on_names(order)
        updated(order, reply["update"], name=names["clusterName"], addonName=names["addonName"])
    retag(order, physical.attribute("Arn"))
    return physical


def _add_on_deleted(order: Order, _: Physical) -> None:
    tolerant(order, "eks", "delete_addon", **_add_on_names(order))
    gone(order, "describe_addon", **_add_on_names(order))


def _entry(order: Order) -> Physical:
    reply = order.shaped("eks", "create_access_entry", "AccessPolicies")["accessEntry"]
    _put_policies(order)
    return Physical(
        f"{order.get('PrincipalArn')}|{order.get('ClusterName')}",
        {"AccessEntryArn": reply.get("accessEntryArn", "")},
    )


def _put_policies(order: Order) -> None:
    names = _entry_names(order)
    wanted = {policy["PolicyArn"]: policy for policy in order.get("AccessPolicies", [])}
    for policy in order.old.get("AccessPolicies", []):
        if policy["PolicyArn"] not in wanted:
            tolerant(order, "eks", "disassociate_access_policy", policyArn=policy["PolicyArn"], **names)
    for arn, policy in wanted.items():
        scope = fitted("eks", "associate_access_policy", "accessScope", policy["AccessScope"])
        order.call("eks", "associate_access_policy", policyArn=arn, accessScope=scope, **names)


def _entry_names(order: Order) -> dict[str, str]:
    return {"clusterName": order.get("ClusterName"), "principalArn": order.get("PrincipalArn")}


def _entry_changed(order: Order, physical: Physical) -> Physical:
    if order.changed() & {"KubernetesGroups", "Username"}:
        order.shaped("eks", "update_access_entry", "AccessPolicies", "Tags", "Type")
    _put_policies(order)
    return physical


def _entry_deleted(order: Order, _: Physical) -> None:
    tolerant(order, "eks", "delete_access_entry", **_entry_names(order))


def _pod_identity(order: Order) -> Physical:
    reply = order.shaped("eks", "create_pod_identity_association")["association"]
    attributes = {"AssociationArn": reply["associationArn"], "AssociationId": reply["associationId"]}
    return Physical(reply["associationArn"], attributes)


def _pod_identity_deleted(order: Order, physical: Physical) -> None:
    request = {"clusterName": order.get("ClusterName"), "associationId": physical.attribute("AssociationId")}
    try:
        order.call("eks", "delete_pod_identity_association", **request)
    except ClientError as error:
        if not is_absent(error):
            raise


KINDS = {
    "AWS::EKS::Cluster": Kind(
        _cluster,
        _cluster_changed,
        _cluster_deleted,
        frozenset({"Name", "RoleArn", "EncryptionConfig", "BootstrapSelfManagedAddons"}),
        "map",
    ),
    "AWS::EKS::Addon": Kind(
        _add_on, _add_on_changed, _add_on_deleted, frozenset({"ClusterName", "AddonName"}), "map"
    ),
    "AWS::EKS::AccessEntry": Kind(
        _entry, _entry_changed, _entry_deleted, frozenset({"ClusterName", "PrincipalArn", "Type"}), "map"
    ),
    "AWS::EKS::PodIdentityAssociation": Kind(_pod_identity, None, _pod_identity_deleted, tags="map"),
}
