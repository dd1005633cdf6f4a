"""Repairs a lab that cannot be read, so that the rules can look for further problems in it.

A wrong value is removed, so that its default applies, or replaced by a harmless value. The rules then report no problem
that comes from such a place.
"""

from copy import deepcopy
from math import isfinite

from pydantic import ValidationError

from lamplighter.lab.keys import Path, fields, part_at
from lamplighter.lab.model import Lab
from lamplighter.lab.types import Number

VALUES: Path = ("gpu_operator", "values")
CLUSTER_POLICY: Path = ("gpu", "cluster_policy")
GROUPS_BY_NAME: tuple[Path, ...] = (("pools",), ("cluster", "node_groups"))
HARMLESS: dict[str, object] = {
    "name": "x",
    "start": "00:00",
    "end": "00:01",
    "key": "nvidia.com/gpu",
    "members": [],
    "may": [],
}
TRIES = 6


def cleaned(value: object, path: Path = ()) -> object:
    """The value without keys that are null: null means the same as a missing key. Helm's values keep theirs."""
    if path[:2] == VALUES or path[-2:] == CLUSTER_POLICY:
        return _helm(value)
    if isinstance(value, list):
        return [cleaned(item, (*path, index)) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if path in GROUPS_BY_NAME:
        # A pool or node group without a value is one without keys.
        value = {name: {} if group is None else group for name, group in value.items()}
    return {key: cleaned(item, (*path, key)) for key, item in value.items() if item is not None}


def _helm(value: object) -> object:
    if isinstance(value, list):
        return [_helm(item) for item in value]
    if isinstance(value, dict):
        return {key: _helm(item) for key, item in value.items()}
    if isinstance(value, Number) and isfinite(float(value)):
        return float(value)
    return value


def culprit(location: tuple[str | int, ...]) -> Path:
    """The path to repair for an error. A list is repaired as a whole, but each window alone."""
    path = tuple(step for step in location if step != "[key]")
    while path and isinstance(path[-1], int) and not (path[0] == "windows" and len(path) == 2):  # noqa: PLR2004
        path = path[:-1]
    return path


def repaired(value: dict[str, object], error: ValidationError) -> Lab | None:
    """The lab without its wrong values; None if the rest cannot be read."""
    value = deepcopy(value)
    for _ in range(TRIES):
        for detail in error.errors():
            _mend(value, culprit(detail["loc"]))
        try:
            return Lab.model_validate(value)
        except ValidationError as further:
            error = further
    return None


def _mend(value: object, path: Path) -> None:
    """Removes the value at a path, or puts a harmless value there."""
    parent = value
    for step in path[:-1]:
        if isinstance(parent, dict):
            parent = parent.get(step)
        elif isinstance(parent, list) and isinstance(step, int) and step < len(parent):
            parent = parent[step]
    last = path[-1] if path else None
    if isinstance(parent, list) and isinstance(last, int):
        parent[last] = {"name": f"x{last}", "days": "daily", "start": "00:00", "end": "00:01"}
    elif isinstance(parent, dict) and isinstance(last, str):
        if last == "name" and path[0] == "windows":
            parent[last] = f"x{path[1]}"
        elif last in HARMLESS and last in _required(path):
            parent[last] = HARMLESS[last]
        else:
            parent.pop(last, None)


def _required(path: Path) -> list[str]:
    part = part_at(path[:-1])
    return [key for key, field in fields(part).items() if field.is_required()] if part else []
