"""A record that an adapter makes of an answer has the types that it promises: JSON and AWS's clients hand on any."""

import types
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")


def checked(record: Record) -> Record:
    """The record as it is. Raises TypeError where a field has a value of another type."""
    for name, kind in _fields(type(record)):
        value = getattr(record, name)
        if not _fits(value, kind):
            raise TypeError(f"{name} of {type(record).__name__} is {str(value)[:80]!r}")
    return record


@cache
def _fields(record: type) -> tuple[tuple[str, Any], ...]:
    return tuple(get_type_hints(record).items())


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 -- a type
    of, parts = get_origin(kind), get_args(kind)
    if of in {Union, types.UnionType}:
        return any(_fits(value, part) for part in parts)
    if of is tuple and parts[-1] is Ellipsis:
        return isinstance(value, tuple) and all(_fits(one, parts[0]) for one in value)
    if of is Mapping:
        return isinstance(value, Mapping) and all(_fits(one, parts[1]) for one in value.values())
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, of or kind)
