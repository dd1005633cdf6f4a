"""The reference page of lab.yaml: one table for each part, from the model's descriptions, units and defaults."""

import json
from collections.abc import Iterator
from datetime import timedelta
from types import UnionType
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from lamplighter.lab.keys import bare, fields
from lamplighter.lab.model import Lab
from lamplighter.lab.types import Part
from lamplighter.labfile.messages import listed
from lamplighter.values.counted import write_duration

HEAD = """\
# lab.yaml

<!-- Generated from the model by `make docs`; do not edit. -->

One file describes one lab. A key that you leave out takes the value of the default lab, so `name: my-lab` is a
complete lab. `lamplighter check` prints every problem with its line. With [lab.schema.json](lab.schema.json), editors
complete keys. The [lab.yaml](../../lab.yaml) of this repository shows all keys.

How the file is read:

- It is YAML 1.2: `20:00` and `2026-03-02` need no quotes, and `yes` is a word. The file has one document, is in UTF-8,
  and has at most 256 KiB. Tags and duplicate keys are refused. Anchors and aliases work; YAML 1.2 has no merge keys
  (`<<`).
- `null` is the same as a key that is left out. An unknown key is refused, and the message names the nearest known key.
- `pools` and `windows` replace those of the default lab. A key that a pool leaves out takes the default pool's value.
  Other mappings (`labels`, `tags`, `gpu_operator.values`) are added to the default ones key by key. A list replaces the
  default list.
- Money is read exactly as it is written, never as a binary float. Durations are written `8h`, `90m` or `1h30m`.
- A pool with `existing` takes nothing from the default lab: Lamplighter reads from AWS what it leaves out.

What a deploy does to nodes when you change a key, by the column *a change*:

- *in place*: EKS changes the group, and its nodes stay.
- *rolled*: EKS replaces the nodes one by one, and evicts their pods first. The deploy fails if a pod cannot be evicted.
  A pool at zero has nothing to replace, and a deploy that would roll a leased pool is refused.
- *replaced*: EKS cannot change it. A new group would need the name of the old one, so the deploy fails and is rolled
  back. Add a pool or group with another name, and remove the old one.

Karpenter and EKS Auto Mode never change a node of a pool of these kinds: whatever the key, nodes that run keep the old
value, and new nodes have the new one. A deploy that would change a leased pool is refused.

With an image of your own (`ami_type: CUSTOM`) taints are part of the user data: a change of them rolls the nodes, and
another `kubernetes_version` does not, because the image has its own.
"""


def page() -> str:
    """The text of docs/reference/lab.md."""
    return HEAD + "\n" + "\n".join(_sections(Lab, "", set()))


def _sections(part: type[Part], path: str, told: set[type[Part]]) -> Iterator[str]:
    if part in told:
        return
    told.add(part)
    yield f"## {path or 'The lab'}"
    yield ""
    yield " ".join((part.__doc__ or "").split())
    yield ""
    of_groups = any(_change(field) for field in fields(part).values())
    yield "| key | what | value | default |" + (" a change |" if of_groups else "")
    yield "|---|---|---|---|" + ("---|" if of_groups else "")
    for key, field in fields(part).items():
        row = f"| `{key}` | {_what(field)} | {_value(field)} | {_default(field)} |"
        yield row + (f" {_change(field)} |" if of_groups else "")
    yield ""
    for key, field in fields(part).items():
        kind = bare(field.annotation)
        step = "[]" if get_origin(kind) is list else ".NAME" if get_origin(kind) is dict else ""
        inner = bare(get_args(kind)[-1]) if step else kind
        if isinstance(inner, type) and issubclass(inner, Part):
            yield from _sections(inner, f"{path}.{key}{step}".lstrip("."), told)


def _what(field: FieldInfo) -> str:
    return (field.description or "").replace("|", "\\|")


def _change(field: FieldInfo) -> str:
    """What a change of a key does to the nodes of a group that exists."""
    extra = field.json_schema_extra
    return str(extra.get("change", "")) if isinstance(extra, dict) else ""


def _value(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    unit = str(extra["unit"]) if isinstance(extra, dict) and "unit" in extra else ""
    kind = bare(field.annotation)
    words = "time" if unit.startswith("HH:MM") else _words(kind)  # kept as a minute of the day
    bounds = {
        name: getattr(rule, name) for rule in field.metadata for name in ("ge", "le") if hasattr(rule, name)
    }
    if bounds:
        words += (
            f", {bounds.get('ge', '…')} to {bounds['le']}" if "le" in bounds else f", {bounds['ge']} or more"
        )
    return f"{words} ({unit})" if unit else words


def _words(kind: object) -> str:
    kind = bare(kind)
    origin = get_origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(f"`{word}`" for word in listed(get_args(kind)))
    if origin is UnionType:
        return " or ".join(_words(choice) for choice in get_args(kind))
    if origin is list:
        return f"list of: {_words(get_args(kind)[0])}"
    if origin is dict:
        return f"mapping of names to: {_words(get_args(kind)[1])}"
    if isinstance(kind, type) and issubclass(kind, Part):
        return "keys below"
    return _NAMES.get(str(getattr(kind, "__name__", kind)), "any value")


_NAMES = {
    "str": "text",
    "DateRange": "mapping of from and to",
    "int": "whole number",
    "bool": "`true` or `false`",
    "Decimal": "amount",
    "timedelta": "duration",
    "date": "date",
}


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value == "" or value in ([], {}):
        example = f", such as `{json.dumps(field.examples[0])}`" if field.examples else ""
        return f"left out{example}"
    if isinstance(value, Part) or (
        isinstance(value, dict) and any(isinstance(item, Part) for item in value.values())
    ):
        return "see below"
    if isinstance(value, list) and any(isinstance(item, Part) for item in value):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{_plain(value)}`"


def _plain(value: object) -> str:
    if isinstance(value, timedelta):
        return write_duration(value)
    return (
        json.dumps(value, default=_plain) if isinstance(value, bool | int | str | list | dict) else str(value)
    )
