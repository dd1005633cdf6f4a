"""The deploy steps about NodePools: they return the present size, and try the launch bar."""

from lamplighter.application.deploy import mark as deploy_mark
from lamplighter.application.deploy.event import Event, known_as, properties_of
from lamplighter.application.deploy.response import CloudFormationResponse


def size(event: Event) -> CloudFormationResponse:
    """The replicas that the NodePool has now, which the deploy writes back; 0 if there is no NodePool yet.

    Nobody raises them from here on. What leases justify counts too: a node may be ordered at this moment.
    """
    from lamplighter.application.deploy.node_pool.present import present_size  # noqa: PLC0415 -- only here

    properties = properties_of(event)
    cluster, name = properties["Cluster"], properties["NodePool"]
    known = f"size-of-{cluster}/{name}"
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(known)
    about_to_come = deploy_mark.justified(properties["Pool"]) if event["RequestType"] == "Update" else 0
    found = present_size(cluster, name)
    return CloudFormationResponse(known, data={"Replicas": 0 if found is None else max(found, about_to_come)})


def launch_bar(event: Event) -> CloudFormationResponse:
    """Fails where the API server would take a claim that the launch bar of a pool must refuse."""
    from lamplighter.application.deploy.node_pool.trial import refuses_claims  # noqa: PLC0415 -- only here

    known = known_as(event)
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(known)
    properties = properties_of(event)
    for pool in filter(None, properties["Pools"].split(",")):
        refuses_claims(properties["Cluster"], pool)
    return CloudFormationResponse(f"launch-bar-{properties['Digest']}")
