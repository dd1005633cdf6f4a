"""Into which slices a GPU model can be cut, by instance type; see mig.json.

A type whose family is not in the table has GPUs that cannot be cut, or is unknown: tables age.
"""

import json
from functools import cache
from importlib.resources import files

Document = dict[str, dict[str, dict[str, dict[str, int]]]]


@cache
def _models() -> dict[str, dict[str, dict[str, int]]]:
    return _document()["models"]


@cache
def _document() -> Document:
    document: Document = json.loads(files("lamplighter.data.gpu").joinpath("mig.json").read_text("utf-8"))
    return document


def model(instance_type: str) -> str | None:
    """The GPU model of a type whose GPUs can be cut into slices, with its memory; None for any other."""
    found = _document()["families"].get(instance_type.partition(".")[0])
    return str(found) if found else None


def profiles(instance_type: str) -> dict[str, dict[str, int]]:
    """The ways in which a type's GPUs can be cut: by profile, how many slices of which kind a GPU gives."""
    known = model(instance_type)
    return _models()[known] if known else {}


def kinds() -> frozenset[str]:
    """Every kind of slice."""
    return frozenset(kind for profiles in _models().values() for made in profiles.values() for kind in made)


def families() -> list[str]:
    """The families whose GPUs can be cut."""
    return list(_document()["families"])
