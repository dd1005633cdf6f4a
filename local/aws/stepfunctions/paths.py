"""JSONPath and payload templates of the Amazon States Language.

It reads values from a state's data, puts a result into it, and fills in a template. Nobody changes a state's data: new
data share with the earlier ones what is the same. intrinsics.py has the intrinsic functions.
"""

import copy
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from local.aws.stepfunctions.errors import StatesError
from local.aws.stepfunctions.intrinsics import evaluate

#: Any JSON value.
Json = Any

_STEP = re.compile(r"\.([^\.\[\]'\"*?@()\s:,]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")


def read(path: str, data: Json, context: Json) -> Json:
    """The value at `path`; `$$` reads the context object. A missing value raises States.Runtime."""
    root: Json
    root, rest = (context, path[2:]) if path.startswith("$$") else (data, path[1:])
    if not path.startswith("$"):
        raise StatesError("States.Runtime", f"Invalid path '{path}': a path starts with $")
    steps = _reference(rest)
    if steps is None:
        return _search(rest, root, path)
    value: Json = root
    for step in steps:
        try:
            fits = isinstance(value, list if isinstance(step, int) else dict)
            value = value[step] if fits else _missing
        except (KeyError, IndexError):
            value = _missing
        if value is _missing:
            raise StatesError(
                "States.Runtime",
                f"The JSONPath '{path}' could not be found in the input '{shortened(root)}'",
            )
    return value


def present(path: str, data: Json, context: Json) -> bool:
    """Whether there is a value at `path`."""
    try:
        read(path, data, context)
    except StatesError:
        return False
    return True


def put(path: str | None, data: Json, result: Json) -> Json:
    """The data with `result` at a reference path. None leaves the data unchanged, `$` replaces it."""
    if path is None:
        return data
    steps = _reference(path[1:])
    if not steps:
        if path == "$":
            return result
        raise StatesError("States.Runtime", f"'{path}' is not a reference path")
    whole = copy.copy(data) if isinstance(data, dict) else None
    place: Json = whole
    for number, step in enumerate(steps):
        fits = isinstance(place, dict) if isinstance(step, str) else isinstance(place, list)
        if not fits or (isinstance(step, int) and step >= len(place)):
            raise StatesError(
                "States.ResultPathMatchFailure",
                f"Unable to apply step '{step}' of ResultPath '{path}' to '{shortened(data)}'",
            )
        if number == len(steps) - 1:
            place[step] = result
        else:
            within = copy.copy(place.get(step, {}) if isinstance(step, str) else place[step])
            place[step] = within
            place = within
    return whole


def fill(template: Json, data: Json, context: Json) -> Json:
    """The template, with every `name.$` replaced by the value of its path or intrinsic function."""
    if isinstance(template, Mapping):
        filled = {}
        for key, value in template.items():
            if key.endswith(".$"):
                filled[key[:-2]] = expression(value, data, context)
            else:
                filled[key] = fill(value, data, context)
        return filled
    if isinstance(template, list):
        return [fill(value, data, context) for value in template]
    return template


def expression(text: str, data: Json, context: Json) -> Json:
    """A path, or an intrinsic function. The context is copied, for it changes with the state."""
    if text.startswith("$"):
        value = read(text, data, context)
        return copy.deepcopy(value) if text.startswith("$$") else value
    return evaluate(text, lambda path: read(path, data, context))


def shortened(value: Json) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 300 else text[:300] + "…"  # noqa: PLR2004


_missing = object()


@cache
def _reference(rest: str) -> tuple[str | int, ...] | None:
    """The steps of a reference path (no wildcard, filter, slice or `..`), None for any other."""
    steps: list[str | int] = []
    at = 0
    while at < len(rest):
        step = _STEP.match(rest, at)
        if step is None:
            return None
        name, index, single, double = step.groups()
        steps.append(
            int(index) if index is not None else next(x for x in (name, single, double) if x is not None)
        )
        at = step.end()
    return tuple(steps)


def _search(rest: str, root: Json, path: str) -> list[Json]:
    """The values that a path with wildcards matches: always a list, maybe empty."""
    try:
        compiled = _compiled("$" + rest)
    except Exception as error:
        raise StatesError("States.Runtime", f"Invalid path '{path}': {error}") from error
    return [match.value for match in compiled.find(root)]


@cache
def _compiled(path: str) -> Json:
    from jsonpath_ng.ext.parser import parse  # noqa: PLC0415 (its import is slow, and few paths need it)

    return parse(path)
