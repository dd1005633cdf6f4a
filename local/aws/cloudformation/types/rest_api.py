"""API Gateway REST APIs: the API, its resources, request validators and gateway responses.

rest_api_methods.py has the methods, and rest_api_stages.py what is served. API Gateway's refusals have the words that
LocalStack recorded from AWS (its test_apigateway_api and test_apigateway_common). What the embedded cloud does not play
is an error, not left out.
"""

from collections.abc import Mapping
from typing import Any

from local.aws.api.gateway_responses import TYPES
from local.aws.cloudformation.kinds import Failed, Kind, Order, Physical, Remove, removed, tolerant

PAGE = "/_restapis"
SERVICE = "apigateway"


def only(order: Order, *known: str) -> None:
    """Refuses properties that would have no effect here."""
    unknown = set(order.properties) - {*known, "Tags"}
    if unknown:
        raise Failed(
            f"the embedded cloud's REST APIs do not know {', '.join(sorted(unknown))} of {order.type}"
        )


def _api(order: Order) -> Physical:
    only(order, "Name", "Description", "EndpointConfiguration")
    api = order.shaped(SERVICE, "create_rest_api")
    return Physical(api["id"], {"RestApiId": api["id"], "RootResourceId": api["rootResourceId"]})


def _api_changed(order: Order, physical: Physical) -> Physical:
    only(order, "Name", "Description", "EndpointConfiguration")
    changes = [replaced(f"/{name.lower()}", order.get(name, "")) for name in ("Name", "Description")]
    order.call(SERVICE, "update_rest_api", restApiId=physical.id, patchOperations=changes)
    return physical


def replaced(path: str, value: Any) -> Mapping[str, str]:
    text = str(value)
    return {"op": "replace", "path": path, "value": text.lower() if isinstance(value, bool) else text}


def _resource(order: Order) -> Physical:
    if "{" in order.get("PathPart"):
        raise Failed("the embedded cloud's REST APIs do not know paths with parameters")
    api, parent = order.get("RestApiId"), order.get("ParentId")
    there = order.call(SERVICE, "get_resources", restApiId=api)["items"]
    if any((each.get("parentId"), each.get("pathPart")) == (parent, order.get("PathPart")) for each in there):
        raise Failed(f"Another resource with the same parent already has this name: {order.get('PathPart')}")
    resource = order.shaped(SERVICE, "create_resource")["id"]
    return Physical(resource, {"ResourceId": resource})


def _validator(order: Order) -> Physical:
    if str(order.get("ValidateRequestBody", "")).lower() == "true":
        raise Failed("the embedded cloud's REST APIs do not validate bodies")
    validator = order.shaped(SERVICE, "create_request_validator")["id"]
    return Physical(validator, {"RequestValidatorId": validator})


def _gateway_response(order: Order) -> Physical:
    if order.get("ResponseType") not in TYPES:
        raise Failed(f"Invalid response type {order.get('ResponseType')}")
    only(order, "RestApiId", "ResponseType", "StatusCode", "ResponseTemplates")
    order.shaped(SERVICE, "put_gateway_response")
    name = order.name("Id")
    return Physical(name, {"Id": name})


def _gateway_response_changed(order: Order, physical: Physical) -> Physical:
    _gateway_response(order)
    return physical


def _gateway_response_deleted(order: Order, _: Physical) -> None:
    request = {"restApiId": order.get("RestApiId"), "responseType": order.get("ResponseType")}
    tolerant(order, SERVICE, "delete_gateway_response", **request)


def deleted(part: str, key: str) -> Remove:
    """Deletes a part of an API by its physical id."""

    def remove(order: Order, physical: Physical) -> None:
        request = {"restApiId": order.get("RestApiId"), key: physical.id}
        tolerant(order, SERVICE, f"delete_{part}", **request)

    return remove


KINDS = {
    "AWS::ApiGateway::RestApi": Kind(
        _api,
        _api_changed,
        removed(SERVICE, "delete_rest_api", "restApiId"),
        frozenset({"EndpointConfiguration"}),
        "list",
    ),
    "AWS::ApiGateway::Resource": Kind(_resource, None, deleted("resource", "resourceId")),
    "AWS::ApiGateway::RequestValidator": Kind(
        _validator, None, deleted("request_validator", "requestValidatorId")
    ),
    "AWS::ApiGateway::GatewayResponse": Kind(
        _gateway_response,
        _gateway_response_changed,
        _gateway_response_deleted,
        frozenset({"RestApiId", "ResponseType"}),
    ),
}
