"""A cache for values that moto computes again for every call, although they never change, and tags without a search.

Without it a call to a table takes twice as long. moto's backends are global in the process, and so is this cache.
"""

import uuid
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import moto.core.responses as moto_responses
from botocore.model import Shape
from moto.core.base_backend import BackendDict
from moto.core.serialize import AttributePickerContext, XFormedAttributePicker
from moto.core.utils import method_names_from_class
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, get_prefix

_names: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()
_plain_account = BackendDict.__getitem__
_plain_reset = BackendDict.reset
_noted: set[int] = set()
_plain_keys = XFormedAttributePicker.get_possible_keys
_keys: dict[tuple[Shape, str, type], tuple[str, ...]] = {}


def work_out_once() -> None:
    """Replaces these parts of moto; calling it again changes nothing."""
    moto_responses.method_names_from_class = _methods  # type: ignore[assignment,attr-defined]
    moto_responses.gen_amzn_requestid_long = _request_id  # type: ignore[assignment,attr-defined]
    BackendDict.__getitem__ = _account  # type: ignore[method-assign]
    BackendDict.reset = _reset  # type: ignore[method-assign]
    TaggedEC2Resource.get_tags = _tags  # type: ignore[method-assign,assignment]
    remember_keys()


def remember_keys() -> None:
    """Replaces only moto's search for the members of what it answers."""
    XFormedAttributePicker.get_possible_keys = _possible_keys  # type: ignore[method-assign,assignment]


def _possible_keys(picker: XFormedAttributePicker, context: AttributePickerContext) -> Iterable[str]:
    """The names under which an object may have a member of an answer. They depend on AWS's model and its class.

    moto asks six classes for them, for each member of each object. Only a class with a `Meta` writes names of its own.
    """
    if hasattr(context.obj, "Meta"):
        return _plain_keys(picker, context)
    asked = context.shape, context.key, type(context.obj)
    if asked not in _keys:
        _keys[asked] = tuple(dict.fromkeys(_plain_keys(picker, context)))
    return _keys[asked]


def _methods(front: type) -> frozenset[str]:
    """The operations of a service. moto goes through all members of the class each time."""
    if front not in _names:
        _names[front] = frozenset(method_names_from_class(front))
    return _names[front]


def _request_id(headers: dict[str, Any] | None = None) -> str:
    """A request id. AWS's ids are UUIDs; moto draws 52 letters one by one."""
    made = str(uuid.uuid4())
    if headers is not None:
        headers["x-amzn-requestid"] = made
    return made


def _account(backends: Any, account_id: str) -> Any:
    """The backends of an account.

    On each access moto notes the services that its next reset must empty; once is enough.
    """
    found = backends.get(account_id) if id(backends) in _noted else None
    if found is None:
        found = _plain_account(backends, account_id)
        _noted.add(id(backends))
    return found


def _reset() -> None:
    """moto's own reset. It also clears these notes, so that new backends are noted again."""
    _plain_reset()
    _noted.clear()


def _tags(resource: Any) -> list[dict[str, str]]:
    """The tags of a resource. moto looks at each tag of each resource of the account, for each of them."""
    named = resource.id or ""
    kind = EC2_PREFIX_TO_RESOURCE.get(get_prefix(named), "") if named else ""
    tags = resource.ec2_backend.tags.get(named, {}) if named else {}
    return [
        {"resource_id": named, "key": key, "value": value, "resource_type": kind}
        for key, value in tags.items()
    ]
