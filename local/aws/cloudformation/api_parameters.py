"""Turns a template's properties into an API's parameters, by botocore's model of the operation.

CloudFormation and the APIs mostly use the same names in different casing, and templates hold numbers and booleans as
strings. A property that the operation does not know is an error. A resource type that leaves one out names it.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from botocore import xform_name
from moto.core.utils import get_service_model


@cache
def _parameters(service: str, operation: str) -> Any:
    model = get_service_model(service)  # moto keeps it: reading EC2's model takes half a second
    names = {xform_name(name): name for name in model.operation_names}
    return model.operation_model(names[operation]).input_shape


def shaped(service: str, operation: str, properties: dict[str, Any]) -> dict[str, Any]:
    """The request of an operation. Raises ValueError that names an unknown property."""
    request: dict[str, Any] = _fit(_parameters(service, operation), properties, operation)
    return request


def fitted(service: str, operation: str, member: str, value: Any) -> Any:
    """One single parameter of an operation."""
    return _fit(_parameters(service, operation).members[member], value, f"{operation}.{member}")


def _fit(shape: Any, value: Any, where: str) -> Any:
    fit = _FITS.get(shape.type_name)
    return fit(shape, value, where) if fit else value


def _list(shape: Any, value: Any, where: str) -> list[Any]:
    if isinstance(value, dict) and "Key" in getattr(shape.member, "members", {}):
        return [{"Key": key, "Value": str(inner)} for key, inner in value.items()]
    return [_fit(shape.member, element, where) for element in (value if isinstance(value, list) else [value])]


def _map(shape: Any, value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, list):
        return {tag["Key"]: tag["Value"] for tag in value}
    return {key: _fit(shape.value, inner, f"{where}.{key}") for key, inner in value.items()}


def _structure(shape: Any, value: dict[str, Any], where: str) -> dict[str, Any]:
    members = {name.lower(): name for name in shape.members}
    fitted: dict[str, Any] = {}
    for key, inner in value.items():
        name = members.get(key.lower())
        if name is None:
            raise ValueError(f"the embedded cloud cannot pass the property {key} to {where}")
        fitted[name] = _fit(shape.members[name], inner, f"{where}.{name}")
    return fitted


def _string(_shape: Any, value: Any, _where: str) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _boolean(_shape: Any, value: Any, _where: str) -> bool:
    return value if isinstance(value, bool) else str(value).lower() == "true"


_FITS: dict[str, Callable[[Any, Any, str], Any]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "boolean": _boolean,
    "integer": lambda _, value, __: int(value),
    "long": lambda _, value, __: int(value),
    "float": lambda _, value, __: float(value),
    "double": lambda _, value, __: float(value),
    "blob": lambda _, value, __: value.encode() if isinstance(value, str) else value,
}
