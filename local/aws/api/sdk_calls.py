"""AWS calls in the form of Step Functions' aws-sdk integrations and Scheduler's universal targets.

They use the service's name in the Java SDK, the action in camelCase, and every member in PascalCase. This file checks
such a call by botocore's models and translates it. Other files decide who makes it, and when.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

from local.aws.api.own_services import Document

#: Services whose name in the Java SDK differs from boto3's.
BOTO3_NAMES = {
    "sfn": "stepfunctions",
    "eventbridge": "events",
    "cloudwatchlogs": "logs",
    "servicequotas": "service-quotas",
    "costexplorer": "ce",
}
#: The prefix of a service's errors, if it is not the capitalised name of the service.
PREFIXES = {
    "dynamodb": "DynamoDb",
    "autoscaling": "AutoScaling",
    "cloudwatch": "CloudWatch",
    "secretsmanager": "SecretsManager",
    "eventbridge": "EventBridge",
    "servicequotas": "ServiceQuotas",
    "cloudformation": "CloudFormation",
}


class BadCall(Exception):
    """The call cannot be made as it is written; the text says why."""


class Call:
    """One action of one service; `service` and `operation` are boto3's names."""

    def __init__(self, service: str, action: str) -> None:
        self.prefix = PREFIXES.get(service, service[:1].upper() + service[1:])
        self.service = BOTO3_NAMES.get(service, service)
        model = _service_model(self.service) if service not in BOTO3_NAMES.values() else None
        if model is None:
            raise BadCall(f"there is no service {service!r}")
        self._model = model
        self._operation = _operation_model(model, action)
        self.operation = xform_name(self._operation.name)

    def request(self, document: Document) -> Document:
        """The document as boto3 takes it.

        Raises BadCall for a member that the action does not have, or of the wrong type.
        """
        shape = self._operation.input_shape
        if shape is None:
            return {}
        request: Document = _to_boto(document, shape, "")
        report = ParamValidator().validate(request, shape)
        if report.has_errors():
            raise BadCall(report.generate_report())
        return request

    def reply(self, answer: Document) -> Document:
        """boto3's answer in PascalCase, with instants as text."""
        shape = self._operation.output_shape
        translated: Document = _from_boto(answer, shape) if shape is not None else {}
        return translated

    def error(self, error: ClientError) -> str:
        """Step Functions' name for the error, such as `Eks.ResourceInUseException`."""
        code = error.response["Error"]["Code"]
        modelled = {_code(shape): shape.name for shape in self._model.error_shapes}
        name = modelled.get(code) or (code if code.endswith("Exception") else f"{self.prefix}Exception")
        return f"{self.prefix}.{name}" if name.endswith("Exception") else f"{self.prefix}.{name}Exception"


def _code(shape: Shape) -> str:
    code: str = shape.metadata.get("error", {}).get("code", shape.name)
    return code


@cache
def _session() -> botocore.session.Session:
    return botocore.session.get_session()


@cache
def _service_model(service: str) -> ServiceModel | None:
    if service not in _session().get_available_services():
        return None
    model: ServiceModel = _session().get_service_model(service)
    return model


def _operation_model(model: ServiceModel, action: str) -> OperationModel:
    if action[:1].islower():
        for name in model.operation_names:
            if name.lower() == action.lower():
                return model.operation_model(name)
    raise BadCall(f"{model.service_name} has no action {action!r} (actions are written in camelCase)")


def _to_boto(value: Any, shape: Shape, where: str) -> Any:
    if isinstance(shape, StructureShape) and isinstance(value, Mapping):
        members = {name.lower(): name for name in shape.members}
        translated = {}
        for key, inner in value.items():
            member = members.get(str(key).lower())
            if member is None or not str(key)[:1].isupper():
                known = ", ".join(name[:1].upper() + name[1:] for name in shape.members)
                raise BadCall(f"{where}{key} is not a member, the members are {known}")
            translated[member] = _to_boto(inner, shape.members[member], f"{where}{key}.")
        return translated
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [_to_boto(inner, shape.member, where) for inner in value]
    if isinstance(shape, MapShape) and isinstance(value, Mapping):
        return {key: _to_boto(inner, shape.value, f"{where}{key}.") for key, inner in value.items()}
    return value


def _from_boto(value: Any, shape: Shape) -> Any:
    if isinstance(shape, StructureShape) and isinstance(value, Mapping):
        return {
            name[:1].upper() + name[1:]: _from_boto(value[name], member)
            for name, member in shape.members.items()
            if name in value
        }
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [_from_boto(inner, shape.member) for inner in value]
    if isinstance(shape, MapShape) and isinstance(value, Mapping):
        return {key: _from_boto(inner, shape.value) for key, inner in value.items()}
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value
