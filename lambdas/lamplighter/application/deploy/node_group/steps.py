"""The deploy steps about a node group: they check an edit, and return its sizes, version, role and group."""

from collections.abc import Callable, Mapping

from lamplighter.application.deploy.event import Event, before, known_as, properties_of
from lamplighter.application.deploy.response import CloudFormationResponse
from lamplighter.application.environment import lab
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason


def desired_size(event: Event) -> CloudFormationResponse:
    """The present size of the node group, which CloudFormation writes back; 0 if there is no group yet.

    Nobody raises it from here on. What leases justify counts too: a node may be ordered at this moment.
    """
    from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups  # noqa: PLC0415 -- on first use
    from lamplighter.application.deploy.node_group.sizes import present_size  # noqa: PLC0415 -- only here

    properties = properties_of(event)
    cluster, nodegroup = properties["Cluster"], properties["Nodegroup"]
    name = f"size-of-{cluster}/{nodegroup}"
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(name)
    pool = _pool_of(nodegroup) if event["RequestType"] == "Update" else None
    about_to_come = _justified(pool) if pool else 0
    found = NodeGroups(cluster).read(nodegroup)
    size = max(present_size(found), about_to_come) if found else 0
    return CloudFormationResponse(name, data={"DesiredSize": str(size)})


def edit(event: Event) -> CloudFormationResponse:
    """Fails zones that EKS refuses, and an edit that it takes only in two updates, before anything changes."""
    from lamplighter.application.deploy.node_group.edit import checked  # noqa: PLC0415 -- only here
    from lamplighter.application.deploy.zones import refuse_zones  # noqa: PLC0415

    known = known_as(event)
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(known)
    properties, old = properties_of(event), before(event)
    zones = properties.get("Zones", "")
    # A stack of an older release has no zones here, and its subnets exist.
    refuse_zones(zones, None if old is None else old.get("Zones", zones))
    return CloudFormationResponse(checked(properties["Groups"], (old or {}).get("Groups"), known))


def sizes(event: Event) -> CloudFormationResponse:
    """The sizes that CloudFormation writes to a pool's node group."""
    from lamplighter.application.deploy.node_group.sizes import sizes  # noqa: PLC0415 -- only here

    known = known_as(event)
    return (
        CloudFormationResponse(known)
        if event["RequestType"] == "Delete"
        else sizes(properties_of(event), before(event), known, str(event.get("RequestId", "")))
    )


def version(event: Event) -> CloudFormationResponse:
    """The version of the launch template for a node group."""
    from lamplighter.application.deploy.node_group.version import version as version_from_here  # noqa: PLC0415 -- only here

    known, given = known_as(event), event.get("ResourceProperties")
    if event["RequestType"] == "Delete" or not isinstance(given, Mapping):
        return CloudFormationResponse(known)
    return version_from_here(given, known)


def node_role(event: Event) -> CloudFormationResponse:
    """The name of the nodes' role: the role of the existing group, which EKS never changes, or that of a new group.

    A group of another role would be another group, and its name is taken: roles of older releases keep theirs.
    """
    from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups  # noqa: PLC0415 -- on first use

    properties = properties_of(event)
    cluster, nodegroup = properties["Cluster"], properties["Nodegroup"]
    name = f"role-of-{cluster}/{nodegroup}"
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(name)
    found = NodeGroups(cluster).read(nodegroup)
    return CloudFormationResponse(name, data={"RoleName": (found.role if found else "") or properties["New"]})


def _justified(pool: str) -> int:
    from lamplighter.application.deploy.mark import justified  # noqa: PLC0415 -- brings the ledger

    return justified(pool)


def _pool_of(nodegroup: str) -> str | None:
    return next((pool for pool in lab().pools if lab().nodegroup_name(pool) == nodegroup), None)


def group(event: Event) -> CloudFormationResponse:
    """The Auto Scaling group behind a pool's node group, which only EKS can name."""
    from lamplighter.adapters.capacity.node_group.autoscaling import AutoScaling  # noqa: PLC0415 -- on first use
    from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups  # noqa: PLC0415

    properties = properties_of(event)
    pool, cluster, nodegroup = properties["Pool"], properties["Cluster"], properties["Nodegroup"]
    name = f"group-of-{cluster}/{nodegroup}"
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(name)
    found = NodeGroups(cluster).read(nodegroup)
    group = found.group if found and found.group else None
    if group is None:
        tagged = AutoScaling().group_of(cluster, nodegroup)
        group = tagged.name if tagged else None
    if group is None:
        raise BadInput(reason("deploy.no-node-group", pool=pool, group=nodegroup, cluster=cluster))
    return CloudFormationResponse(name, data={"AutoScalingGroupName": group})


STEPS: Mapping[str, Callable[[Event], CloudFormationResponse]] = {
    "Edit": edit,
    "DesiredSize": desired_size,
    "Sizes": sizes,
    "Version": version,
    "NodeRole": node_role,
    "Group": group,
}
