"""Which kind a resource is; an unknown type fails, by name."""

from local.aws.cloudformation import (
    types_buckets,
    types_cluster,
    types_events,
    types_functions,
    types_http,
    types_identity,
    types_messages,
    types_network,
    types_nodegroup,
    types_security_groups,
    types_storage,
)
from local.aws.cloudformation.kinds import Failed, Kind, Properties

KINDS: dict[str, Kind] = {
    **types_buckets.KINDS,
    **types_cluster.KINDS,
    **types_events.KINDS,
    **types_functions.KINDS,
    **types_http.KINDS,
    **types_identity.KINDS,
    **types_messages.KINDS,
    **types_network.KINDS,
    **types_nodegroup.KINDS,
    **types_security_groups.KINDS,
    **types_storage.KINDS,
}


def kind_of(resource_type: str, properties: Properties, custom: Kind) -> Kind:
    """The kind of a resource; `custom` for one that a function answers for."""
    if resource_type in KINDS:
        return KINDS[resource_type]
    if resource_type.startswith("Custom::") or resource_type == "AWS::CloudFormation::CustomResource":
        if ":lambda:" in str(properties.get("ServiceToken")):
            return custom
        raise Failed(f"{resource_type} has no Lambda function as ServiceToken")
    raise Failed(f"Resource type {resource_type} is not known to the embedded cloud")
