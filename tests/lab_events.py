"""Whether what a lab puts on its bus is what its classes say: the event's type, every key, and each value's type."""

import dataclasses
import json
import types
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from lamplighter.domain.events import lab_event
from lamplighter.values import instant

KINDS = {kind.TYPE: kind for kind in lab_event.KINDS}
MILLISECOND = timedelta(milliseconds=1)
"""The precision of an instant in a detail."""


def faults(entry: Mapping[str, Any], lab: str) -> list[str]:
    """What is wrong with an entry of PutEvents as an event of the lab; nothing where it is right."""
    if (entry["Source"], entry["EventBusName"]) != (f"lamplighter.{lab}", lab):
        return [f"{entry['Source']} on {entry['EventBusName']} is not what lab {lab} tells"]
    kind, detail = KINDS.get(entry["DetailType"]), json.loads(entry["Detail"])
    if kind is None:
        return [f"{entry['DetailType']} is no detail-type of a lab"]
    found = list(_faults(detail, kind, entry["DetailType"]))
    if found:
        return found
    if (detail["version"], detail["lab"]) != ("1", lab) or not detail["reason"]["text"]:
        return [f"{entry['DetailType']} is of {detail['lab']} because {detail['reason']}"]
    if abs(entry["Time"] - instant.read(detail["at"])) >= MILLISECOND:
        return [f"{entry['DetailType']} is of {detail['at']} and was put at {entry['Time']}"]
    return []


def _faults(value: object, hint: Any, path: str) -> Iterator[str]:
    """Where a value of JSON does not fit a type of the classes."""
    origin = get_origin(hint)
    if dataclasses.is_dataclass(hint):
        hints = _hints(dataclasses.fields(hint), hint)
        if not isinstance(value, dict) or value.keys() != hints.keys():
            yield f"{path} has the keys {value!r}, not {sorted(hints)}"
        else:
            for name, each in hints.items():
                yield from _faults(value[name], each, f"{path}.{name}")
    elif origin is tuple and isinstance(value, list):
        for index, part in enumerate(value):
            yield from _faults(part, get_args(hint)[0], f"{path}.{index}")
    elif not _is(value, hint, origin):
        yield f"{path} is {value!r}"


def _is(value: object, hint: Any, origin: Any) -> bool:
    if hint is Any:
        return True
    if origin in {Union, types.UnionType}:
        return any(not any(_faults(value, each, "")) for each in get_args(hint))
    if origin is Literal or hint is types.NoneType:
        return value in (get_args(hint) or (None,))
    if hint is datetime:
        return (
            isinstance(value, str) and value.endswith("Z") and instant.written(instant.read(value)) == value
        )
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, {Mapping: dict, tuple: list}.get(origin, origin or hint))


def _hints(fields: tuple[dataclasses.Field[Any], ...], kind: Any) -> dict[str, Any]:
    hints = _types(kind)
    return {each.name: hints[each.name] for each in fields}


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
