"""What a REST API serves: deployments, and the stages that point to them."""

from collections.abc import Mapping
from typing import Any

from local.aws.cloudformation.kinds import Failed, Kind, Order, Physical, tolerant
from local.aws.cloudformation.types.rest_api import SERVICE, deleted, only, replaced

STAGE = ("RestApiId", "StageName", "DeploymentId", "Description", "MethodSettings")
#: A setting of a stage's methods by its path in `UpdateStage`, and its value where no stage says one: the throttle is
#: the account's (API Gateway quotas).
SETTINGS = {
    "MetricsEnabled": ("metrics/enabled", False),
    "ThrottlingBurstLimit": ("throttling/burstLimit", 5_000),
    "ThrottlingRateLimit": ("throttling/rateLimit", 10_000),
}


def _deployment(order: Order) -> Physical:
    only(order, "RestApiId", "Description")
    deployment = order.shaped(SERVICE, "create_deployment")["id"]
    return Physical(deployment, {"DeploymentId": deployment})


def _deployment_deleted(order: Order, physical: Physical) -> None:
    stages = tolerant(order, SERVICE, "get_stages", restApiId=order.get("RestApiId")).get("item", [])
    if any(stage["deploymentId"] == physical.id for stage in stages):
        raise Failed("Active stages pointing to this deployment must be moved or deleted")
    deleted("deployment", "deploymentId")(order, physical)


def _stage(order: Order) -> Physical:
    only(order, *STAGE)
    settings = _settings(order.get("MethodSettings", []))
    _refuse_unknown_deployment(order)
    order.shaped(SERVICE, "create_stage", "MethodSettings")
    _update(order, settings)
    return Physical(order.get("StageName"))


def _stage_changed(order: Order, physical: Physical) -> Physical:
    only(order, *STAGE)
    _refuse_unknown_deployment(order)
    unset = {
        path: default
        for path in _settings(order.old.get("MethodSettings", []))
        for end, default in SETTINGS.values()
        if path.endswith(end)
    }
    settings = unset | _settings(order.get("MethodSettings", []))
    _update(order, {**settings, "/deploymentId": order.get("DeploymentId")})
    return physical


def _refuse_unknown_deployment(order: Order) -> None:
    deployments = order.call(SERVICE, "get_deployments", restApiId=order.get("RestApiId"))["items"]
    if order.get("DeploymentId") not in {each["id"] for each in deployments}:
        raise Failed("Invalid deployment identifier specified")


def _settings(given: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Values by their path in `UpdateStage`."""
    values: dict[str, Any] = {}
    for setting in given:
        named = dict(setting)
        resource, method = str(named.pop("ResourcePath", "/*")), named.pop("HttpMethod", "*")
        where = "*" if resource == "/*" else resource.replace("/", "~1")
        if named.pop("LoggingLevel", "OFF") != "OFF" or named.pop("DataTraceEnabled", False):
            raise Failed("CloudWatch Logs role ARN must be set in account settings to enable logging")
        unknown = named.keys() - SETTINGS.keys()
        if unknown:
            raise Failed(f"the embedded cloud's stages do not know {', '.join(sorted(unknown))}")
        values |= {f"/{where}/{method}/{SETTINGS[name][0]}": value for name, value in named.items()}
    return values


def _update(order: Order, values: Mapping[str, Any]) -> None:
    if not values:
        return
    request = {"restApiId": order.get("RestApiId"), "stageName": order.get("StageName")}
    changes = [replaced(path, value) for path, value in values.items()]
    order.call(SERVICE, "update_stage", **request, patchOperations=changes)


KINDS = {
    "AWS::ApiGateway::Deployment": Kind(_deployment, None, _deployment_deleted),
    "AWS::ApiGateway::Stage": Kind(
        _stage, _stage_changed, deleted("stage", "stageName"), frozenset({"RestApiId", "StageName"}), "list"
    ),
}
