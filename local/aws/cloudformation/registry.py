"""The kind of each resource type; an unknown type fails, with its name."""

from local.aws.cloudformation.kinds import Failed, Kind, Properties
from local.aws.cloudformation.types import buckets as types_buckets
from local.aws.cloudformation.types import cluster as types_cluster
from local.aws.cloudformation.types import events as types_events
from local.aws.cloudformation.types import functions as types_functions
from local.aws.cloudformation.types import http as types_http
from local.aws.cloudformation.types import identity as types_identity
from local.aws.cloudformation.types import messages as types_messages
from local.aws.cloudformation.types import network as types_network
from local.aws.cloudformation.types import nodegroup as types_nodegroup
from local.aws.cloudformation.types import rest_api as types_rest_api
from local.aws.cloudformation.types import rest_api_methods as types_rest_api_methods
from local.aws.cloudformation.types import rest_api_stages as types_rest_api_stages
from local.aws.cloudformation.types import security_groups as types_security_groups
from local.aws.cloudformation.types import storage as types_storage

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
    **types_rest_api.KINDS,
    **types_rest_api_methods.KINDS,
    **types_rest_api_stages.KINDS,
    **types_security_groups.KINDS,
    **types_storage.KINDS,
}


def kind_of(resource_type: str, properties: Properties, custom: Kind) -> Kind:
    """The kind of a resource; `custom` for a resource that a function handles."""
    if resource_type in KINDS:
        return KINDS[resource_type]
    if resource_type.startswith("Custom::") or resource_type == "AWS::CloudFormation::CustomResource":
        if ":lambda:" in str(properties.get("ServiceToken")):
            return custom
        raise Failed(f"{resource_type} has no Lambda function as ServiceToken")
    raise Failed(f"Resource type {resource_type} is not known to the embedded cloud")
