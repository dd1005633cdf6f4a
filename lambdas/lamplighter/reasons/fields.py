"""A dataclass as a JSON document and back, a key for each field, by the types of the fields.

Instants are RFC 3339, durations are seconds, reasons are as document.py has them; an empty tuple and None are null.
A type with `to_json` and `from_json` of its own, such as Money, keeps them. It costs a cold start less than pydantic.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from lamplighter.reasons.document import document, read
from lamplighter.reasons.reason import Reason, Sentences
from lamplighter.values import instant

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")
Reader = Callable[[Any], Any]
WriteInstant = Callable[[datetime], str]


def to_document(record: "DataclassInstance", write_instant: WriteInstant = instant.written) -> dict[str, Any]:
    """The document of a record; `write_instant` writes its instants."""
    return {name: _written(getattr(record, name), write_instant) for name in _names(type(record))}


def from_document(record: type[Record], kept: Mapping[str, Any]) -> Record:
    """Reads what `to_document` wrote. Unknown keys are ignored.

    Raises KeyError for a missing field that has no default and may not be None. Raises TypeError or ValueError for
    a value of another type.
    """
    return record(
        **{
            field.name: field.read(kept.get(field.name) if field.optional else kept[field.name])
            for field in _readers(record)
            if field.required or kept.get(field.name) is not None
        }
    )


class _Field(NamedTuple):
    name: str
    read: Reader
    optional: bool
    """It may be None."""
    required: bool
    """It has no default."""


def _written(value: Any, write_instant: WriteInstant) -> Any:  # noqa: ANN401, PLR0911 -- a line each kind
    kind = type(value)
    if kind in _UNCHANGED:
        return value
    if kind is datetime:
        return write_instant(value)
    if kind is tuple:
        return [_written(part, write_instant) for part in value] or None
    if kind in {Reason, Sentences}:
        return document(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return to_document(value, write_instant)
    return _TEXT[kind](value) if kind in _TEXT else value.value if isinstance(value, Enum) else value


_UNCHANGED = frozenset({str, int, bool, NoneType})
_TEXT: Mapping[type, Reader] = {
    date: date.isoformat,
    timedelta: lambda length: int(length.total_seconds()),
    Decimal: str,
}


@cache
def _names(record: type["DataclassInstance"]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(record))


@cache
def _readers(record: type["DataclassInstance"]) -> tuple[_Field, ...]:
    types = get_type_hints(record)
    return tuple(
        _Field(
            field.name,
            _reader(types[field.name]),
            NoneType in get_args(types[field.name]),
            _is_required(field),
        )
        for field in fields(record)
    )


def _is_required(field: Any) -> bool:  # noqa: ANN401 -- dataclasses.Field of any type
    return field.default is MISSING and field.default_factory is MISSING


def _reader(kind: Any) -> Reader:  # noqa: ANN401 -- a type; a line each kind
    parts = get_args(kind)
    if get_origin(kind) in {Union, UnionType}:
        return _reader_of_union(parts)
    if get_origin(kind) is tuple:
        if parts[1:] == (...,):
            return _reader_of_tuple(_reader(parts[0]))
        readers = tuple(map(_reader, parts))
        return lambda kept: tuple(read(part) for read, part in zip(readers, kept, strict=True))
    if hasattr(kind, "from_json"):
        return _reader_of_object(kind, kind.from_json)
    if isinstance(kind, type) and is_dataclass(kind):
        return _reader_of_object(kind, lambda kept: from_document(kind, kept))
    return _PLAIN.get(kind, kind if isinstance(kind, type) and issubclass(kind, Enum) else _as_it_is)


def _reader_of_union(kinds: tuple[Any, ...]) -> Reader:
    if Reason in kinds:
        return lambda kept: None if kept is None and NoneType in kinds else read(kept)
    [kind] = (kind for kind in kinds if kind is not NoneType)
    reader = _reader(kind)
    return lambda kept: None if kept is None else reader(kept)


def _reader_of_tuple(reader: Reader) -> Reader:
    return lambda kept: tuple(map(reader, kept or ()))


def _reader_of_object(kind: type, reader: Reader) -> Reader:
    def read_object(kept: Any) -> Any:  # noqa: ANN401
        if not isinstance(kept, Mapping):
            raise TypeError(f"{kept!r} is no {kind.__name__}")
        return reader(kept)

    return read_object


def _as_it_is(kept: Any) -> Any:  # noqa: ANN401
    return kept


_PLAIN: Mapping[Any, Reader] = {
    str: str,
    int: lambda kept: int(str(kept)),
    bool: lambda kept: kept is True,
    datetime: lambda kept: instant.read(str(kept)),
    date: lambda kept: date.fromisoformat(str(kept)),
    timedelta: lambda kept: timedelta(seconds=int(str(kept))),
    Decimal: lambda kept: Decimal(str(kept)),
}
