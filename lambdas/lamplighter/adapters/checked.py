"""A record that an adapter makes of an answer has the types that it promises: JSON and AWS's clients hand on any."""

import re
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")
_Fits = Callable[[object], bool]
_INSTANCE = re.compile("i-[0-9a-f]{1,17}")


def checked(record: Record) -> Record:
    """The record as it is. Raises TypeError where a field has a value of another type."""
    for name, fits in _fields(type(record)):
        value = getattr(record, name)
        if not fits(value):
            raise TypeError(f"{name} of {type(record).__name__} is {str(value)[:80]!r}")
    return record


def instance_id(text: str) -> str:
    """The id of an EC2 instance as it is. Raises ValueError for a text that is none: leased nodes would be strays."""
    if not _INSTANCE.fullmatch(text):
        raise ValueError(f"no instance has the id {text[:80]!r}")
    return text


@cache
def _fields(record: type) -> tuple[tuple[str, _Fits], ...]:
    return tuple((name, _fits(kind)) for name, kind in get_type_hints(record).items())


def _fits(kind: Any) -> _Fits:  # noqa: ANN401 -- a type
    """What asks whether a value is of the type. To take a type apart takes longer than to ask."""
    of, parts = get_origin(kind), get_args(kind)
    if of in {Union, types.UnionType}:
        either = tuple(_fits(part) for part in parts)
        return lambda value: any(fits(value) for fits in either)
    if of is tuple and parts[-1] is Ellipsis:
        each = _fits(parts[0])
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    if of is Mapping:
        one = _fits(parts[1])
        return lambda value: isinstance(value, Mapping) and all(map(one, value.values()))
    if kind is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    wanted = of or kind
    return lambda value: isinstance(value, wanted)
