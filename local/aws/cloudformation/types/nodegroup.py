"""EKS managed node groups: which changes happen in place, which replace the group, and which CloudFormation refuses.

From the published resource handler: a change of the version or launch template cannot be combined with any other
change. A replacement with a fixed name fails, because the old group still has the name.
"""

from typing import Any

from local.aws.cloudformation.api_parameters import fitted
from local.aws.cloudformation.kinds import Failed, Kind, Order, Physical, tolerant
from local.aws.cloudformation.types.cluster import gone, retag, settled, updated

VERSION = {"LaunchTemplate", "Version", "ReleaseVersion"}
CONFIG = {
    "ScalingConfig": "scalingConfig",
    "UpdateConfig": "updateConfig",
    "NodeRepairConfig": "nodeRepairConfig",
}


def _create(order: Order) -> Physical:
    name = order.name("NodegroupName", 63)
    leave = ("NodegroupName", "ForceUpdateEnabled")
    order.shaped("eks", "create_nodegroup", *leave, nodegroupName=name)
    cluster = order.get("ClusterName")
    request = {"clusterName": cluster, "nodegroupName": name}
    group = settled(order, "describe_nodegroup", "nodegroup", **request)
    attributes = {"Arn": group["nodegroupArn"], "ClusterName": cluster, "NodegroupName": name}
    return Physical(f"{cluster}/{name}", {**attributes, "Id": f"{cluster}/{name}"})


def _target(physical: Physical) -> dict[str, str]:
    cluster, _, group = physical.id.partition("/")
    return {"clusterName": cluster, "nodegroupName": group}


def _change(order: Order, physical: Physical) -> Physical:
    changed = order.changed() - {"ForceUpdateEnabled"}
    if changed & VERSION and changed - VERSION:
        raise Failed("Version and ReleaseVersion updates cannot be combined with other updates")
    target = _target(physical)
    reply = None
    if changed & VERSION:
        reply = order.call("eks", "update_nodegroup_version", **_version_request(order), **target)
    elif changed - {"Tags"}:
        reply = order.call("eks", "update_nodegroup_config", **_config_request(order, changed), **target)
    if reply:
        updated(order, reply["update"], name=target["clusterName"], nodegroupName=target["nodegroupName"])
    retag(order, physical.attribute("Arn"))
    return physical


def _version_request(order: Order) -> dict[str, Any]:
    request = {
        name[0].lower() + name[1:]: fitted(
            "eks", "update_nodegroup_version", name[0].lower() + name[1:], value
        )
        for name in VERSION & order.changed()
        if (value := order.get(name)) is not None
    }
    force = str(order.get("ForceUpdateEnabled", False)).lower() == "true"
    return {**request, "force": force}


def _config_request(order: Order, changed: set[str]) -> dict[str, Any]:
    request = {
        key: fitted("eks", "update_nodegroup_config", key, order.get(name))
        for name, key in CONFIG.items()
        if name in changed and name in order.properties
    }
    if "Labels" in changed:
        new, old = order.get("Labels", {}), order.old.get("Labels", {})
        gone = [key for key in old if key not in new]
        request["labels"] = {"addOrUpdateLabels": new, **({"removeLabels": gone} if gone else {})}
    if "Taints" in changed:
        new, old = (_taints(p.get("Taints", [])) for p in (order.properties, order.old))
        gone = [taint for taint in old if taint not in new]
        request["taints"] = {"addOrUpdateTaints": new, **({"removeTaints": gone} if gone else {})}
    return request


def _taints(written: list[dict[str, str]]) -> list[dict[str, str]]:
    taints: list[dict[str, str]] = fitted("eks", "create_nodegroup", "taints", written)
    return taints


def _delete(order: Order, physical: Physical) -> None:
    tolerant(order, "eks", "delete_nodegroup", **_target(physical))
    gone(order, "describe_nodegroup", **_target(physical))


KINDS = {
    "AWS::EKS::Nodegroup": Kind(
        _create,
        _change,
        _delete,
        frozenset(
            {
                "AmiType",
                "CapacityType",
                "ClusterName",
                "DiskSize",
                "InstanceTypes",
                "NodegroupName",
                "NodeRole",
            }
            | {"RemoteAccess", "Subnets"}
        ),
        "map",
    ),
}
