"""A dataclass as a JSON document and back, a key for each field, by the types of the fields.

Instants are RFC 3339, durations are seconds, reasons are as document.py has them; an empty tuple and None are null.
A `Form` writes some of these in another way. A type with `to_json` and `from_json` of its own, such as Money, keeps
them. It costs a cold start less than pydantic.
"""

from collections import abc
from collections.abc import Callable, Mapping
from contextlib import suppress
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
KEY = "key"
"""In a field's metadata: its key in the document, where that is not the field's name."""


class Form:
    """How a document writes the values that people, programs and DynamoDB want in different forms.

    A plain class: to make a dataclass costs every cold start a millisecond.
    """

    def __init__(
        self,
        *,
        write_instant: Callable[[datetime], Any] = instant.written,
        read_instant: Reader = lambda kept: instant.read(str(kept)),
        write_reason: Callable[[Reason | Sentences], Any] = document,
        lists: bool = False,
    ) -> None:
        """With `lists` an empty tuple is an empty list."""
        self.write_instant = write_instant
        self.read_instant = read_instant
        self.write_reason = write_reason
        self.lists = lists


KEPT = Form()
"""As the ledger and the workflows keep it."""
SHOWN = Form(write_reason=str, lists=True)
"""As `--json` of the command line shows it: reasons in English, an empty tuple as an empty list."""


def to_document(
    record: "DataclassInstance", form: Form = KEPT, names: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The document of a record: of all its fields, or of these fields and properties."""
    if names:
        return {name: _written(getattr(record, name), form) for name in names}
    return {key: _written(getattr(record, name), form) for name, key in _keys(type(record))}


def from_document(record: type[Record], kept: Mapping[str, Any], form: Form = KEPT) -> Record:
    """Reads what `to_document` wrote. Unknown keys are ignored.

    Raises KeyError for a missing field that has no default and may not be None. Raises TypeError or ValueError for
    a value of another type.
    """
    return record(
        **{
            field.name: field.read(kept.get(field.key) if field.optional else kept[field.key])
            for field in _readers(record, form)
            if field.required or kept.get(field.key) is not None
        }
    )


def from_odd_document(record: type[Record], kept: object, form: Form = KEPT) -> Record:
    """Reads as much as can be read: a field has its default where its value is empty or of another type.

    Empty is also 0 and a text of no length, but not for a field that may be None: there these are values.
    Use it for what another release may have written in another way. Raises as `from_document` does for a field
    without a default.
    """
    found = kept if isinstance(kept, Mapping) else {}
    read_fields = {}
    for field in _readers(record, form):
        if field.required:
            read_fields[field.name] = field.read(found[field.key])
        elif found.get(field.key) or (field.optional and found.get(field.key) is not None):
            with suppress(TypeError, ValueError, KeyError):
                read_fields[field.name] = field.read(found[field.key])
    return record(**read_fields)


class _Field(NamedTuple):
    name: str
    key: str
    read: Reader
    optional: bool
    """It may be None."""
    required: bool
    """It has no default."""


def _written(value: Any, form: Form) -> Any:  # noqa: ANN401, PLR0911 -- a line each kind
    kind = type(value)
    if kind in _UNCHANGED:
        return value
    if kind is datetime:
        return form.write_instant(value)
    if kind is tuple:
        return [_written(part, form) for part in value] or ([] if form.lists else None)
    if kind in {Reason, Sentences}:
        return form.write_reason(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return to_document(value, form)
    return _TEXT[kind](value) if kind in _TEXT else value.value if isinstance(value, Enum) else value


_UNCHANGED = frozenset({str, int, bool, NoneType})
_TEXT: Mapping[type, Reader] = {
    date: date.isoformat,
    timedelta: lambda length: int(length.total_seconds()),
    Decimal: lambda number: format(number, "f"),
}


@cache
def _keys(record: type["DataclassInstance"]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.metadata.get(KEY, field.name)) for field in fields(record))


@cache
def _readers(record: type["DataclassInstance"], form: Form) -> tuple[_Field, ...]:
    types = get_type_hints(record)
    return tuple(
        _Field(
            field.name,
            field.metadata.get(KEY, field.name),
            _reader(types[field.name], form),
            NoneType in get_args(types[field.name]),
            _is_required(field),
        )
        for field in fields(record)
    )


def _is_required(field: Any) -> bool:  # noqa: ANN401 -- dataclasses.Field of any type
    return field.default is MISSING and field.default_factory is MISSING


def _reader(kind: Any, form: Form) -> Reader:  # noqa: ANN401, PLR0911 -- a type; a line each kind
    parts = get_args(kind)
    if get_origin(kind) in {Union, UnionType}:
        return _reader_of_union(parts, form)
    if get_origin(kind) is tuple:
        if parts[1:] == (...,):
            return _reader_of_tuple(_reader(parts[0], form))
        readers = tuple(_reader(part, form) for part in parts)
        return lambda kept: tuple(read(part) for read, part in zip(readers, kept, strict=True))
    if get_origin(kind) is abc.Mapping:
        return _reader_of_object(dict, dict)
    if hasattr(kind, "from_json"):
        return _reader_of_object(kind, kind.from_json)
    if kind is datetime:
        return form.read_instant
    if isinstance(kind, type) and is_dataclass(kind):
        return _reader_of_object(kind, lambda kept: from_document(kind, kept, form))
    return _PLAIN.get(kind, kind if isinstance(kind, type) and issubclass(kind, Enum) else _as_it_is)


def _reader_of_union(kinds: tuple[Any, ...], form: Form) -> Reader:
    if Reason in kinds:
        return lambda kept: None if kept is None and NoneType in kinds else read(kept)
    [kind] = (kind for kind in kinds if kind is not NoneType)
    reader = _reader(kind, form)
    return lambda kept: None if kept is None else reader(kept)


def _reader_of_tuple(reader: Reader) -> Reader:
    def read_tuple(kept: Any) -> tuple[Any, ...]:  # noqa: ANN401
        if isinstance(kept, str):
            raise TypeError(f"{kept!r} is no list")
        return tuple(map(reader, kept or ()))

    return read_tuple


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
    date: lambda kept: date.fromisoformat(str(kept)),
    timedelta: lambda kept: timedelta(seconds=int(str(kept))),
    Decimal: lambda kept: Decimal(str(kept)),
}
