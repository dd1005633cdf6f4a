"""The intrinsic functions of the Amazon States Language: `States.Format('…', $.x)` and its like."""

import base64
import hashlib
import json
import random
import re
import uuid
from collections.abc import Callable
from typing import Any

from local.aws.stepfunctions.errors import StatesError

Json = Any

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.)*')|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<word>true|false|null)\b"
    r"|(?P<call>States\.\w+)\s*\(|(?P<path>\$[^,()\s]*(?:\([^)]*\)[^,()\s]*)*)|(?P<mark>[,)]))"
)
_WORDS = {"true": True, "false": False, "null": None}


def evaluate(text: str, read: Callable[[str], Json]) -> Json:
    """The value of an intrinsic function; `read` returns the value at a path."""
    value, at = _value(text, 0, read)
    if text[at:].strip():
        raise _failure(f"'{text}' has something after its end: '{text[at:]}'")
    return value


def _value(text: str, at: int, read: Callable[[str], Json]) -> tuple[Json, int]:
    token = _TOKEN.match(text, at)
    if token is None:
        raise _failure(f"'{text}' cannot be read at '{text[at:]}'")
    kind, end = token.lastgroup, token.end()
    if kind == "text":
        return _Literal(token["text"][1:-1]), end
    if kind == "number":
        return json.loads(token["number"]), end
    if kind == "word":
        return _WORDS[token["word"]], end
    if kind == "path":
        return read(token["path"]), end
    if kind == "call":
        arguments, end = _arguments(text, end, read)
        return _call(token["call"], arguments), end
    raise _failure(f"'{text}' cannot be read at '{text[at:]}'")


def _arguments(text: str, at: int, read: Callable[[str], Json]) -> tuple[list[Json], int]:
    arguments: list[Json] = []
    closing = re.compile(r"\s*\)").match(text, at)
    if closing:
        return arguments, closing.end()
    while True:
        value, at = _value(text, at, read)
        arguments.append(value)
        mark = _TOKEN.match(text, at)
        if mark is None or mark.lastgroup != "mark":
            raise _failure(f"'{text}' lacks a comma or a closing bracket")
        at = mark.end()
        if mark["mark"] == ")":
            return arguments, at


def _call(name: str, arguments: list[Json]) -> Json:
    function = FUNCTIONS.get(name)
    if function is None:
        raise _failure(f"there is no intrinsic function {name}")
    if name != "States.Format":
        arguments = [_plain(argument) for argument in arguments]
    try:
        return function(*arguments)
    except StatesError:
        raise
    except Exception as error:
        raise _failure(f"{name} failed on {arguments}: {error}") from error


class _Literal(str):
    """Text as written, with its backslashes: Format must tell an escaped brace from {}."""

    __slots__ = ()


def _plain(argument: Json) -> Json:
    return re.sub(r"\\(.)", r"\1", argument) if isinstance(argument, _Literal) else argument


def _failure(cause: str) -> StatesError:
    return StatesError("States.IntrinsicFailure", cause)


def _format(template: str, *values: Json) -> str:
    parts = re.split(r"(\\.|\{\})", template)
    left = list(values)
    text = ""
    for part in parts:
        if part == "{}":
            value = left.pop(0)
            text += value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        else:
            text += part.removeprefix("\\")
    if left:
        raise ValueError("more values than {}")
    return text


def _partition(values: list[Json], size: int) -> list[list[Json]]:
    return [values[at : at + size] for at in range(0, len(values), size)]


def _unique(values: list[Json]) -> list[Json]:
    return [value for number, value in enumerate(values) if value not in values[:number]]


def _range(first: int, last: int, step: int) -> list[int]:
    return list(range(first, last + (1 if step > 0 else -1), step))


def _random(low: int, high: int, seed: int | None = None) -> int:
    return random.Random(seed).randrange(low, high)  # noqa: S311 (what the language offers)


def _hash(value: Json, algorithm: str) -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return hashlib.new(algorithm.replace("-", "").lower(), text.encode()).hexdigest()


def _merge(one: Json, other: Json, deep: bool) -> Json:
    if deep:
        raise ValueError("only shallow merging is supported, as on AWS")
    return {**one, **other}


FUNCTIONS: dict[str, Callable[..., Json]] = {
    "States.Format": _format,
    "States.StringToJson": json.loads,
    "States.JsonToString": lambda value: json.dumps(value, separators=(",", ":")),
    "States.Array": lambda *values: list(values),
    "States.ArrayPartition": _partition,
    "States.ArrayContains": lambda values, value: value in values,
    "States.ArrayRange": _range,
    "States.ArrayGetItem": lambda values, index: values[index],
    "States.ArrayLength": len,
    "States.ArrayUnique": _unique,
    "States.Base64Encode": lambda text: base64.b64encode(text.encode()).decode(),
    "States.Base64Decode": lambda text: base64.b64decode(text).decode(),
    "States.Hash": _hash,
    "States.JsonMerge": _merge,
    "States.MathRandom": _random,
    "States.MathAdd": lambda one, other: one + other,
    "States.StringSplit": lambda text, marks: [
        part for part in re.split(f"[{re.escape(marks)}]", text) if part
    ],
    "States.UUID": lambda: str(uuid.uuid4()),
}
