"""The JSON Schemas of the events on a lab's bus, from the classes of what it tells and the keys of what it is asked.

What the lab tells may have more keys in a later release; a request with an unknown key is refused.
"""

import ast
import inspect
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from lamplighter.domain.commands.body_keys import LONGEST, LONGEST_NAME, LONGEST_TEXT, MOST_NODES
from lamplighter.domain.events import lab_event
from lamplighter.domain.events.lab_event import KINDS, VERSION, LabEvent
from lamplighter.domain.events.request import KEYS, LONGEST_TOKEN, VERBS
from lamplighter.labfile.schema import SCHEMA
from lamplighter.values.json_value import JsonValue

Schema = dict[str, JsonValue]
FOLDER = Path("docs/reference/events")
#: The version of the form of requests.
REQUESTS_VERSION = "1"
_SIMPLE: Mapping[object, Schema] = {
    Any: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    datetime: {"type": "string", "format": "date-time"},
}
_TEXT: Schema = {"type": "string", "minLength": 1, "pattern": "\\S"}
_KEYS: Mapping[str, Schema] = {
    "pool": {
        **_TEXT,
        "maxLength": LONGEST_NAME,
        "description": "The pool; left out: the only one that the entry may use.",
    },
    "nodes": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_NODES,
        "description": "How many nodes; left out: 1.",
    },
    "for_seconds": {
        "type": "integer",
        "minimum": 1,
        "maximum": int(LONGEST.total_seconds()),
        "description": "How long from now, or how much longer; left out: guard.default_lease.",
    },
    "until": {"type": "string", "format": "date-time", "description": "Until when, with an offset or Z."},
    "because": {**_TEXT, "maxLength": LONGEST_TEXT, "description": "Why, for people."},
    "token": {
        **_TEXT,
        "maxLength": LONGEST_TOKEN,
        "description": "What the sender calls this piece of work: its open, extend and close have the same token.",
    },
}


def generated() -> dict[Path, str]:
    """Every schema of the reference, by its path in the checkout."""
    schemas = {f"{kind.TYPE}.schema.json": of_event(kind) for kind in KINDS}
    schemas["requests.schema.json"] = requests()
    return {
        FOLDER / name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }


def names() -> list[str]:
    """Every detail-type: what the lab tells, then what it is asked."""
    return [kind.TYPE for kind in KINDS] + [verb.value for verb in VERBS]


def of_type(detail_type: str) -> Schema:
    """The schema of the detail of a detail-type; KeyError for an unknown one."""
    kind = next((kind for kind in KINDS if detail_type == kind.TYPE), None)
    if kind is not None:
        return of_event(kind)
    found = {verb.value: _request(verb.value, keys) for verb, keys in KEYS.items()}[detail_type]
    return {"$schema": SCHEMA, "$id": _id(detail_type, REQUESTS_VERSION), **found}


def of_event(kind: type[LabEvent]) -> Schema:
    """The schema of the detail of an event that the lab tells."""
    return {
        "$schema": SCHEMA,
        "$id": _id(kind.TYPE, VERSION),
        "title": kind.TYPE,
        "description": inspect.cleandoc(kind.__doc__ or ""),
        **_dataclass(kind),
        "additionalProperties": True,
    }


def requests() -> Schema:
    """The schema of a request, with its detail-type and its detail; `$defs` has the three details."""
    details: Schema = {verb.value: _request(verb.value, keys) for verb, keys in KEYS.items()}
    return {
        "$schema": SCHEMA,
        "$id": _id("requests", REQUESTS_VERSION),
        "title": "requests",
        "description": "A request on the bus of a lab, as an entry of PutEvents or as EventBridge delivers it.",
        **_one_of({name: f"#/$defs/{name}" for name in details}),
        "$defs": details,
    }


def lab_events() -> Schema:
    """The schema of whatever a lab tells, as EventBridge delivers it; `$defs` has the details."""
    details: Schema = {kind.TYPE: of_event(kind) for kind in KINDS}
    return {
        "$schema": SCHEMA,
        "$id": _id("lab-events", VERSION),
        "title": "lab-events",
        "description": "An event that a lab tells.",
        **_one_of({kind.TYPE: _id(kind.TYPE, VERSION) for kind in KINDS}),
        "$defs": details,
    }


def _id(name: str, version: str) -> str:
    return f"urn:lamplighter:event:{name}:{version}"


def _one_of(references: Mapping[str, str]) -> Schema:
    types: list[JsonValue] = [
        {"properties": {"detail-type": {"const": name}, "detail": {"$ref": to}}}
        for name, to in references.items()
    ]
    return {"type": "object", "required": ["detail-type", "detail"], "oneOf": types}


def _request(verb: str, keys: tuple[str, ...]) -> Schema:
    schema: Schema = {
        "title": verb,
        "type": "object",
        "properties": {key: _KEYS[key] for key in keys},
        "additionalProperties": False,
    }
    if "until" in keys:
        schema["not"] = {"required": ["for_seconds", "until"]}
    return schema


def _dataclass(kind: type) -> Schema:
    """All keys are required: where there is nothing to say, the value is null or empty."""
    assert is_dataclass(kind)  # noqa: S101 -- for the type checker
    properties: Schema = {}
    for field in fields(kind):
        description = _docstring(kind, field.name)
        properties[field.name] = {
            **_type(field.type),
            **({"description": description} if description else {}),
        }
    return {"type": "object", "properties": properties, "required": [*properties]}


def _type(hint: object) -> Schema:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    if origin is Literal:
        return {"const": arguments[0]}
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0])}
    if origin in {Union, UnionType}:
        return _or_null(*(_type(part) for part in arguments if part is not NoneType))
    if isinstance(hint, type) and is_dataclass(hint):
        return {**_dataclass(hint), "additionalProperties": True}
    return {"type": "object"}


def _or_null(schema: Schema) -> Schema:
    """The only unions of the classes: something or nothing."""
    return {**schema, "type": [schema["type"], "null"]}


def _docstring(kind: type, name: str) -> str | None:
    """The text below an attribute, of the class that defines it."""
    texts = _docstrings()
    return next((texts[cls.__name__, name] for cls in kind.__mro__ if (cls.__name__, name) in texts), None)


@cache
def _docstrings() -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for cls in ast.parse(inspect.getsource(lab_event)).body:
        if not isinstance(cls, ast.ClassDef):
            continue
        for line, following in zip(cls.body, cls.body[1:], strict=False):
            match line, following:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str() as text)),
                ):
                    found[cls.name, name] = inspect.cleandoc(text)
                case _:
                    pass
    return found
