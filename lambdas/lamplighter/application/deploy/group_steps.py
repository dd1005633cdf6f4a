"""The deploy steps about a node group: refuse an edit, state its sizes, its version, its role and its group."""

from collections.abc import Mapping

from lamplighter.application.deploy import mark as deploy_mark
from lamplighter.application.deploy.edit import checked
from lamplighter.application.deploy.event import Event, before, known_as, properties_of
from lamplighter.application.deploy.response import CloudFormationResponse
from lamplighter.application.deploy.version import version as version_from_here
from lamplighter.application.environment import lab
from lamplighter.errors import BadInput


def desired_size(event: Event) -> CloudFormationResponse:
    """What the node group has now, for CloudFormation to write it back; 0 where there is none yet.

    Nobody raises it from here on. What leases justify counts too: a node may be ordered at this moment.
    """
    from lamplighter.adapters.aws.capacity.nodegroups import NodeGroups  # noqa: PLC0415 -- on first use
    from lamplighter.application.deploy.sizes import present_size  # noqa: PLC0415 -- only here

    properties = properties_of(event)
    cluster, nodegroup = properties["Cluster"], properties["Nodegroup"]
    name = f"size-of-{cluster}/{nodegroup}"
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(name)
    pool = _pool_of(nodegroup) if event["RequestType"] == "Update" else None
    about_to_come = deploy_mark.justified(pool) if pool else 0
    found = NodeGroups(cluster).read(nodegroup)
    size = max(present_size(found), about_to_come) if found else 0
    return CloudFormationResponse(name, data={"DesiredSize": size})


def edit(event: Event) -> CloudFormationResponse:
    """Fail an edit that EKS takes in two updates only, before anything is changed."""

    known = known_as(event)
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(known)
    groups = properties_of(event)["Groups"]
    return CloudFormationResponse(checked(groups, (before(event) or {}).get("Groups"), known))


def sizes(event: Event) -> CloudFormationResponse:
    """What CloudFormation shall write of a pool's sizes."""
    from lamplighter.application.deploy.sizes import sizes  # noqa: PLC0415 -- only here

    known = known_as(event)
    return (
        CloudFormationResponse(known)
        if event["RequestType"] == "Delete"
        else sizes(properties_of(event), before(event), known, str(event.get("RequestId", "")))
    )


def version(event: Event) -> CloudFormationResponse:
    """The version of its launch template that a node group has from here on."""

    known, given = known_as(event), event.get("ResourceProperties")
    if event["RequestType"] == "Delete" or not isinstance(given, Mapping):
        return CloudFormationResponse(known)
    return version_from_here(given, known)


def node_role(event: Event) -> CloudFormationResponse:
    """The name of the nodes' role: the one that the group has, which EKS never changes, or a new group's.

    A group of another role would be another group, and its name is taken: roles of older releases keep theirs.
    """
    from lamplighter.adapters.aws.capacity.nodegroups import NodeGroups  # noqa: PLC0415 -- on first use

    properties = properties_of(event)
    cluster, nodegroup = properties["Cluster"], properties["Nodegroup"]
    name = f"role-of-{cluster}/{nodegroup}"
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(name)
    found = NodeGroups(cluster).read(nodegroup)
    return CloudFormationResponse(name, data={"RoleName": (found.role if found else "") or properties["New"]})


def _pool_of(nodegroup: str) -> str | None:

    return next((pool for pool in lab().pools if lab().nodegroup_name(pool) == nodegroup), None)


def group(event: Event) -> CloudFormationResponse:
    """The Auto Scaling group behind a pool's node group, which only EKS can name."""
    from lamplighter.adapters.aws.capacity.autoscaling import AutoScaling  # noqa: PLC0415 -- on first use
    from lamplighter.adapters.aws.capacity.nodegroups import NodeGroups  # noqa: PLC0415

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
        raise BadInput(
            f"pool {pool}: node group {nodegroup} is not in cluster {cluster}, so its curfew has nothing to "
            "bring to zero; deploy when it is there, or leave the curfew out"
        )
    return CloudFormationResponse(name, data={"AutoScalingGroupName": group})
