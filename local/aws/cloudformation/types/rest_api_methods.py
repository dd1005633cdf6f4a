"""The methods of a REST API, with their integrations and the answers of both."""

import re
from collections.abc import Mapping
from typing import Any

from local.aws.api.rest_api_integrations import HEADER, URI
from local.aws.cloudformation.api_parameters import shaped
from local.aws.cloudformation.kinds import Failed, Kind, Order, Physical, tolerant
from local.aws.cloudformation.types.rest_api import SERVICE, only

METHOD = (
    "AuthorizationType",
    "HttpMethod",
    "Integration",
    "MethodResponses",
    "RequestParameters",
    "RequestValidatorId",
    "ResourceId",
    "RestApiId",
)
_PLACES = ("header", "querystring")


def _method(order: Order) -> Physical:
    _refuse(order)
    at = _at(order)
    resource = order.call(SERVICE, "get_resource", restApiId=at["restApiId"], resourceId=at["resourceId"])
    if at["httpMethod"] in resource.get("resourceMethods", {}):
        raise Failed("Method already exists for this resource")
    _put(order)
    return Physical(order.name("Id"))


def _method_changed(order: Order, physical: Physical) -> Physical:
    _refuse(order)
    order.call(SERVICE, "delete_method", **_at(order))
    _put(order)
    return physical


def _method_deleted(order: Order, _: Physical) -> None:
    tolerant(order, SERVICE, "delete_method", **_at(order))


def _at(order: Order) -> dict[str, str]:
    names = {"restApiId": "RestApiId", "resourceId": "ResourceId", "httpMethod": "HttpMethod"}
    return {key: order.get(name) for key, name in names.items()}


def _put(order: Order) -> None:
    integration = dict(order.get("Integration"))
    responses = integration.pop("IntegrationResponses", [])
    integration["HttpMethod"] = integration.pop("IntegrationHttpMethod", None) or order.get("HttpMethod")
    order.shaped(SERVICE, "put_method", "Integration", "MethodResponses")
    _call(order, "put_integration", integration)
    for response in order.get("MethodResponses", []):
        _call(order, "put_method_response", response)
    for response in responses:
        _call(order, "put_integration_response", response)


def _call(order: Order, operation: str, given: Mapping[str, Any]) -> None:
    request = {"integrationHttpMethod" if key == "HttpMethod" else key: value for key, value in given.items()}
    order.call(SERVICE, operation, **{**shaped(SERVICE, operation, request), **_at(order)})


def _refuse(order: Order) -> None:
    """Refuses what API Gateway refuses, and what the embedded cloud does not play."""
    only(order, *METHOD)
    if order.get("AuthorizationType") != "NONE":
        raise Failed("the embedded cloud's REST APIs authorise nobody")
    for name in order.get("RequestParameters", {}):
        if not re.fullmatch(rf"method\.request\.({'|'.join(_PLACES)})\.[^.]+", name):
            raise Failed(f"Invalid mapping expression specified: {name}")
    integration = order.get("Integration") or {}
    if integration.get("Type") not in {"AWS", "MOCK"}:
        raise Failed("the embedded cloud's REST APIs have integrations of the types AWS and MOCK only")
    if integration["Type"] == "AWS":
        _refuse_service(integration)
    answers = {str(response["StatusCode"]) for response in order.get("MethodResponses", [])}
    for response in integration.get("IntegrationResponses", []):
        if str(response["StatusCode"]) not in answers:
            raise Failed("Invalid Response status code specified")
        if set(response) - {"StatusCode", "SelectionPattern", "ResponseTemplates"}:
            raise Failed("the embedded cloud's REST APIs do not change headers of answers")


def _refuse_service(integration: Mapping[str, Any]) -> None:
    if not URI.fullmatch(str(integration.get("Uri"))):
        raise Failed(f"the embedded cloud's REST APIs cannot call {integration.get('Uri')}")
    if not integration.get("IntegrationHttpMethod"):
        raise Failed("Enumeration value for HttpMethod must be non-empty")
    if not integration.get("Credentials"):
        raise Failed("Role ARN must be specified for AWS integrations")
    for name, value in integration.get("RequestParameters", {}).items():
        if not name.startswith(HEADER) or not re.fullmatch(r"'[^']*'", value):
            raise Failed(f"the embedded cloud's REST APIs cannot map {value} to {name}")


KINDS = {
    "AWS::ApiGateway::Method": Kind(
        _method,
        _method_changed,
        _method_deleted,
        frozenset({"HttpMethod", "ResourceId", "RestApiId"}),
    ),
}
