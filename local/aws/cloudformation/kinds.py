"""What it takes to make, change and take away a resource of one CloudFormation type.

The types themselves are in the `types_…` modules, each a few calls to the embedded AWS by boto3's names;
how a property finds its parameter is shapes.py's. When what is called is deployment.py's.
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
    """The resource could not be made, changed or taken away; `physical` is what it left behind."""

    def __init__(self, reason: str, physical: "Physical | None" = None) -> None:
        super().__init__(reason)
        self.physical = physical


@dataclass(frozen=True)
class Physical:
    """What exists: the id that Ref gives and the attributes that Fn::GetAtt gives."""

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
    """One resource to be worked on: who it is, its evaluated properties, and the means."""

    stack: str
    stack_id: str
    logical_id: str
    type: str
    properties: Properties
    around: ServiceContext
    old: Properties = field(default_factory=dict)

    def call(self, service: str, operation: str, **request: Any) -> dict[str, Any]:
        """One AWS call with boto3's parameters."""
        return self.around.call(service, operation, request)

    def shaped(self, service: str, operation: str, *leave: str, **more: Any) -> dict[str, Any]:
        """The same with the properties as parameters, but those to `leave` out, and some `more`."""
        given = {key: value for key, value in self.properties.items() if key not in leave}
        return self.call(service, operation, **{**shaped(service, operation, given), **more})

    def get(self, name: str, default: Any = None) -> Any:
        return self.properties.get(name, default)

    def name(self, key: str, limit: int = 64) -> str:
        """The name that the property gives, else one made of stack and logical id, the same every time."""
        given = self.properties.get(key)
        if given:
            return str(given)
        digest = hashlib.sha256(f"{self.stack_id}/{self.logical_id}".encode()).hexdigest()[:12]
        return f"{self.stack}-{self.logical_id}"[: limit - 13] + f"-{digest}"

    def changed(self) -> set[str]:
        """The properties that differ from what they were."""
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
    """Nothing to take away: it goes with what it belongs to."""


@dataclass(frozen=True)
class Kind:
    """A resource type. Without `update` any change but of tags replaces; with it, only a change of `replace_on` does.

    `tags`: "list" or "map" where the stack's tags are put on the resource, in that form, as property Tags.
    `find`: the one that exists already under the name that the template gives, for a stack to take up.
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
        """What is there after a change in place; other tags of a kind without `update` are not looked at again."""
        return physical if self.update is None else self.update(order, physical)


def removed(service: str, operation: str, key: str) -> Remove:
    """Deletes by physical id, given as parameter `key`; what is gone already is fine."""

    def remove(order: Order, physical: Physical) -> None:
        tolerant(order, service, operation, **{key: physical.id})

    return remove


def tolerant(order: Order, service: str, operation: str, **request: Any) -> dict[str, Any]:
    """A call of which "there is none" is a good answer (an empty one)."""
    try:
        return order.call(service, operation, **request)
    except ClientError as error:
        if is_absent(error):
            return {}
        raise


def is_absent(error: ClientError) -> bool:
    """Whether the error says that the thing does not exist."""
    code = error.response["Error"]["Code"]
    return any(word in code for word in ("NotFound", "NoSuch", "NonExistent", "DoesNotExist"))
