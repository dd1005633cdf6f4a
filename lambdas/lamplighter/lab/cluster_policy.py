"""Compares a fragment of settings with the schema of the ClusterPolicy: unknown fields, wrong types, wrong words.

data/gpu/cluster_policy.json lists the fields that a lab may set, with their schema from NVIDIA's CRD.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from pydantic import JsonValue

from lamplighter.lab.keys import Path, hint, nearest
from lamplighter.lab.types import shown

Schema = Mapping[str, object]
_KINDS = {"boolean": "true or false", "string": "text", "integer": "a whole number", "array": "a list"}


def faults(fragment: JsonValue) -> Iterator[tuple[Path, str]]:
    """The mistakes that the API server would refuse, each with its path in the fragment."""
    yield from _faults(fragment, _schema(), ())


@cache
def _schema() -> Schema:
    document = json.loads(files("lamplighter.data.gpu").joinpath("cluster_policy.json").read_text("utf-8"))
    schema: Schema = document["schema"]
    return schema


def _faults(value: JsonValue, schema: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    kind = str(schema["type"])
    if kind == "object":
        yield from _of_mapping(value, schema, path)
    elif kind == "array":
        yield from _of_list(value, schema, path)
    elif not _is(value, kind):
        quoted = kind == "string" and isinstance(value, int | float) and not isinstance(value, bool)
        yield path, f"is {shown(value)}, write {_KINDS[kind]}" + (f': "{value}"' if quoted else "")
    elif (words := _words(schema)) and value not in words:
        choices = ", ".join(word or '""' for word in words)
        yield path, f"is {shown(value)}, write one of {choices}{hint(str(value), words)}"
    elif "pattern" in schema and not re.search(str(schema["pattern"]), str(value)):
        yield path, f"is {shown(value)}, write a length of time such as 30s"


def _of_mapping(value: JsonValue, schema: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, dict):
        yield path, f"is {shown(value)}, write a mapping of fields"
        return
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    known = properties if isinstance(properties, Mapping) else {}
    for key, inner in value.items():
        if key in known:
            yield from _faults(inner, known[key], (*path, key))
        elif isinstance(others, Mapping):
            yield from _faults(inner, others, (*path, key))
        else:
            similar = nearest(key, list(known))
            closest = f", the nearest is {'.'.join(map(str, (*path, similar)))}" if similar else ""
            yield (*path, key), f"is no field of the ClusterPolicy that a lab may set{closest}"
    required = schema.get("required")
    for key in required if isinstance(required, list) else []:
        if key not in value:
            yield (*path, key), "is missing, write it"


def _of_list(value: JsonValue, schema: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    items = schema["items"]
    if not isinstance(value, list):
        yield path, f"is {shown(value)}, write a list"
    elif isinstance(items, Mapping):
        for index, item in enumerate(value):
            yield from _faults(item, items, (*path, index))


def _is(value: JsonValue, kind: str) -> bool:
    match kind:
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, str)


def _words(schema: Schema) -> list[str]:
    words = schema.get("enum")
    return [str(word) for word in words] if isinstance(words, list) else []
