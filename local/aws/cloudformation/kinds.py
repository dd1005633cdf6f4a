"""How to create, change and delete a resource of one CloudFormation type.

The types are in types/. Each is a few calls to the embedded AWS by boto3's names. api_parameters.py turns a property
into a parameter, and deployment.py decides when a call is made.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from local.aws.api.service_context import ServiceContext
from local.aws.cloudformation.api_parameters import shaped

Properties = Mapping[str, Any]


class Failed(Exception):
    """The resource could not be created, changed or deleted. `physical` is what it left behind."""

    def __init__(self, reason: str, physical: "Physical | None" = None) -> None:
        super().__init__(reason)
        self.physical = physical


@dataclass(frozen=True)
class Physical:
    """An existing resource: the id that Ref returns and the attributes that Fn::GetAtt returns."""

    id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def attribute(self, name: str) -> Any:
        if name in self.attributes:
            return self.attributes[name]
        head, _, rest = name.partition(".")
        inner = self.attributes.get(head)
        if rest and isinstance(inner, Mapping) and rest in inner:
            return inner[rest]
        raise KeyError(name)


@dataclass(frozen=True)
class Order:
    """One resource to work on: its name, its evaluated properties, and the services to call."""

    stack: str
    stack_id: str
    logical_id: str
    type: str
    properties: Properties
    around: ServiceContext
    old: Properties = field(default_factory=dict)
    taken_back: bool = False
    """Whether a rollback asks for it."""

    def call(self, service: str, operation: str, **request: Any) -> dict[str, Any]:
        """One AWS call with boto3's parameters."""
        return self.around.call(service, operation, request)

    def shaped(self, service: str, operation: str, *leave: str, **more: Any) -> dict[str, Any]:
        """The same call, with the properties as parameters, without those to `leave` out, and with `more`."""
        given = {key: value for key, value in self.properties.items() if key not in leave}
        return self.call(service, operation, **{**shaped(service, operation, given), **more})

    def get(self, name: str, default: Any = None) -> Any:
        return self.properties.get(name, default)

    def name(self, key: str, limit: int = 64) -> str:
        """The name in the property, otherwise a name from stack and logical id that is the same every time."""
        given = self.properties.get(key)
        if given:
            return str(given)
        digest = hashlib.sha256(f"{self.stack_id}/{self.logical_id}".encode()).hexdigest()[:12]
        return f"{self.stack}-{self.logical_id}"[: limit - 13] + f"-{digest}"

    def changed(self) -> set[str]:
        """The properties that differ from the earlier ones."""
        names = {*self.properties, *self.old}
        return {name for name in names if self.properties.get(name) != self.old.get(name)}

    @property
    def region(self) -> str:
        return self.around.region

    @property
    def account(self) -> str:
        return self.around.account_id


Create = Callable[[Order], Physical]
Change = Callable[[Order, Physical], Physical]
Remove = Callable[[Order, Physical], None]
Find = Callable[[Order], Physical | None]


def _keep(_order: Order, _physical: Physical) -> None:
    """Deletes nothing: the resource disappears with the one that it belongs to."""


@dataclass(frozen=True)
class Kind:
    """A resource type.

    Without `update`, every change except of tags replaces the resource; with it, only a change of `replace_on` does.
    `tags`: "list" or "map", if the stack's tags are put on the resource in that form, as property Tags. `find`: the
    existing resource with the name in the template, which a stack can import.
    """

    create: Create
    update: Change | None = None
    delete: Remove = _keep
    replace_on: frozenset[str] = frozenset()
    tags: str | None = None
    find: Find | None = None

    def replaces(self, changed: set[str]) -> bool:
        return bool(changed - {"Tags"}) if self.update is None else bool(changed & self.replace_on)

    def changed(self, order: Order, physical: Physical) -> Physical:
        """The resource after a change in place. New tags of a kind without `update` are not applied."""
        return physical if self.update is None else self.update(order, physical)


def removed(service: str, operation: str, key: str) -> Remove:
    """Deletes by physical id, given as parameter `key`. A resource that does not exist is no error."""

    def remove(order: Order, physical: Physical) -> None:
        tolerant(order, service, operation, **{key: physical.id})

    return remove


def tolerant(order: Order, service: str, operation: str, **request: Any) -> dict[str, Any]:
    """Calls AWS; "it does not exist" is an empty answer and no error."""
    try:
        return order.call(service, operation, **request)
    except ClientError as error:
        if is_absent(error):
            return {}
        raise


def is_absent(error: ClientError) -> bool:
    """Whether the error says that the resource does not exist."""
    code = error.response["Error"]["Code"]
    return any(word in code for word in ("NotFound", "NoSuch", "NonExistent", "DoesNotExist"))
