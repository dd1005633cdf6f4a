"""The example lab file: every key of the model with its description, its unit and its default.

A key that the default lab leaves out is a comment with an example. So the file is the default lab: it has no window,
and no GPU starts.
"""

import json
import re
import textwrap
from collections.abc import Iterator
from datetime import date
from typing import get_args

from pydantic.fields import FieldInfo

from lamplighter.lab.channels import Slack
from lamplighter.lab.keys import bare, fields
from lamplighter.lab.model import Lab
from lamplighter.lab.nodes.node_groups import NodeGroup
from lamplighter.lab.types import Part
from lamplighter.lab.windows import Window

WIDTH = 100
NAME = "gpu-lab"
HEAD = """\
# yaml-language-server: $schema=docs/reference/lab.schema.json
# Every key of a lab file with its default: `name` alone would be the same lab.
# Generated from the model by `make docs`; reference: docs/reference/lab.md.
"""
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@+-]*|[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]+(h|m|h[0-9]+m)")
_WORDS_OF_YAML = ("true", "false", "null", "yes", "no", "on", "off")


def example(head: str = HEAD) -> str:
    """The text of lab.yaml."""
    lab = Lab(name=NAME)
    return head + "\n" + "\n".join(_part(Lab, json.loads(lab.to_json()))) + "\n"


def _part(part: type[Part], values: dict[str, object]) -> Iterator[str]:
    for key, field in fields(part).items():
        yield from _comment(field)
        value = values.get(key)
        inner = bare(field.annotation)
        if key == "owner" and part is Lab:
            yield f"# {key}: {_scalar(_first(field))}"
        elif key == "zones":
            yield f"{key}: {_scalar(value)}"
        elif isinstance(inner, type) and issubclass(inner, Part):
            yield from _nested(key, inner, value)
        elif (listed := _parts_in(inner)) is not None:
            yield from _collection(key, listed, value, _sample_name(field))
        elif value is None or (value in ([], {}) and field.examples):
            yield f"# {key}: {_scalar(_first(field))}"
        else:
            yield from _entry(key, value)
        if part is Lab:
            yield ""


def _nested(key: str, part: type[Part], value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield f"{key}:"
        yield from _indented(_part(part, value))
    else:
        yield f"# {key}:"
        yield from (f"# {line}" if line else "#" for line in _indented(_part(part, _sample(part))))


def _collection(key: str, part: type[Part], value: object, sample_name: str) -> Iterator[str]:
    """Parts in a list or by name: the parts of the default lab, or a sample as a comment."""
    if isinstance(value, dict) and value:
        yield f"{key}:"
        for name, item in value.items():
            yield f"  {name}:"
            yield from _indented(_part(part, item), 2)
    elif isinstance(value, list) and value:
        yield f"{key}:"
        for item in value:
            yield from _item(_part(part, item))
    else:
        yield f"# {key}:"
        lines = list(_part(part, _sample(part)))
        shaped = _item(lines) if isinstance(value, list) else [f"  {sample_name}:", *_indented(lines, 2)]
        yield from (f"# {line}" for line in shaped)


def _item(lines: Iterator[str] | list[str]) -> Iterator[str]:
    """The lines of a list's item. The comment of its first key is above the dash."""
    begun = False
    for line in lines:
        if begun or line.startswith("#"):
            yield ("    " if begun else "  ") + line
        else:
            yield f"  - {line}"
            begun = True


def _sample(part: type[Part]) -> dict[str, object]:
    """A part made of its examples and defaults."""
    values: dict[str, object] = {}
    for key, field in fields(part).items():
        if field.examples:
            values[key] = _first(field)
        elif not field.is_required():
            values[key] = field.get_default(call_default_factory=True)
    if part is Slack:
        values["roles"] = {}
    if part is Window:
        del values["dates"], values["calendar"], values["calendar_secret"]
    if part is NodeGroup:
        del values["image"], values["image_family"]
    return values


def _comment(field: FieldInfo) -> Iterator[str]:
    extra = field.json_schema_extra
    unit = f" [{extra['unit']}]" if isinstance(extra, dict) and "unit" in extra else ""
    yield from (f"# {line}" for line in textwrap.wrap(f"{field.description}{unit}", WIDTH))


def _parts_in(kind: object) -> type[Part] | None:
    inner = bare(get_args(kind)[-1]) if get_args(kind) else None
    return inner if isinstance(inner, type) and issubclass(inner, Part) else None


def _sample_name(field: FieldInfo) -> str:
    """The name of a sample part."""
    first = _first(field)
    return next(iter(first)) if isinstance(first, dict) else "instructors"


def _first(field: FieldInfo) -> object:
    return field.examples[0] if field.examples else None


def _entry(key: str, value: object) -> Iterator[str]:
    """A value in block style where it is a mapping or long, else in one line."""
    if isinstance(value, dict) and value:
        yield f"{_scalar(key)}:"
        for inner, item in value.items():
            yield from _indented(_entry(inner, item))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        yield f"{_scalar(key)}:"
        for item in value:
            yield f"  - {_scalar(item)}"
    else:
        yield f"{_scalar(key)}: {_scalar(value)}"


def _indented(lines: Iterator[str] | list[str], levels: int = 1) -> Iterator[str]:
    yield from ("  " * levels + line if line else line for line in lines)


def _scalar(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_scalar(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {_scalar(item)}" for key, item in value.items()) + "}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _WORDS_OF_YAML:
        return value if not value.isdecimal() else f'"{value}"'
    return json.dumps(value, ensure_ascii=False)
