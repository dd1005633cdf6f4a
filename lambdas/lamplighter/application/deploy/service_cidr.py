"""The deploy step that reads the network of a cluster's Services, for the user data of own images."""

from lamplighter.application.deploy.event import Event, properties_of
from lamplighter.application.deploy.response import CloudFormationResponse


def service_cidr(event: Event) -> CloudFormationResponse:
    """The network, which never changes while the cluster exists. CloudFormation has no attribute for it."""
    cluster = properties_of(event)["Cluster"]
    name = f"service-cidr-of-{cluster}"
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(name)
    from lamplighter.adapters.aws import cluster_network  # noqa: PLC0415 -- on first use

    return CloudFormationResponse(name, data={"ServiceCidr": cluster_network.service_cidr(cluster)})
