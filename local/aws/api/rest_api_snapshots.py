"""A deployment of a REST API is a snapshot: what changes later is served only after a new deployment.

https://docs.aws.amazon.com/apigateway/latest/developerguide/how-to-deploy-api.html moto keeps no more of a deployment
than its id. Here it also keeps copies of the methods, validators and gateway responses, in the form of `GetMethod`.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moto.apigateway.models import Deployment, RestAPI

from local.aws.api.own_services import Document

_SNAPSHOT = "snapshot"
_create_deployment = RestAPI.create_deployment


@dataclass(frozen=True)
class Snapshot:
    """One deployment's state of an API."""

    methods: Mapping[tuple[str, str], Document]
    """By path and HTTP method."""
    validators: Mapping[str, Document]
    gateway_responses: Mapping[str, Document]


def keep_snapshots() -> None:
    """From now on moto's deployments are snapshots."""

    def create_deployment(api: RestAPI, *given: Any, **named: Any) -> Deployment:
        deployment = _create_deployment(api, *given, **named)
        vars(deployment)[_SNAPSHOT] = _present(api)
        return deployment

    RestAPI.create_deployment = create_deployment  # type: ignore[method-assign, assignment]


def served(api: RestAPI, stage: str) -> Snapshot | None:
    """The snapshot to which a stage points; None without such a stage."""
    if stage not in api.stages:
        return None
    deployment = api.deployments[str(api.stages[stage].deployment_id)]
    snapshot: Snapshot = vars(deployment)[_SNAPSHOT]
    return snapshot


def _present(api: RestAPI) -> Snapshot:
    methods = {
        (resource.get_path(), name): method.to_json()
        for resource in api.resources.values()
        for name, method in resource.resource_methods.items()
    }
    responses = {name: response.to_json() for name, response in api.gateway_responses.items()}
    validators = {name: validator.to_dict() for name, validator in api.request_validators.items()}
    return copy.deepcopy(Snapshot(methods, validators, responses))
