"""Reads raw API documents without trusting their shape: what is not there, or not of its kind, reads as nothing.

Owns nothing of the meaning. A snapshot is other people's output; no odd document may stop a diagnosis.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Doc = Mapping[str, object]
NOTHING: Doc = {}


def at(document: Any, *path: str) -> object:  # noqa: ANN401 -- whatever JSON has
    """What lies at the path; None where any step of it is missing."""
    try:
        for step in path:
            document = document.get(step)
    except AttributeError:
        # No mapping: of all that JSON has, only that can be asked.
        return None
    found: object = document
    return found


def doc(document: object, *path: str) -> Doc:
    """The mapping at the path; an empty one where there is none."""
    found = at(document, *path)
    return found if type(found) is dict or isinstance(found, Mapping) else NOTHING


def text(document: object, *path: str) -> str:
    """The text at the path; "" for anything else."""
    found = at(document, *path)
    return found if isinstance(found, str) else ""


def docs(document: object, *path: str) -> list[Doc]:
    """The mappings in the list at the path."""
    found = at(document, *path)
    if type(found) is list:
        return [each for each in found if type(each) is dict or isinstance(each, Mapping)]
    if isinstance(found, str) or not isinstance(found, Sequence):
        return []
    return [each for each in found if isinstance(each, Mapping)]


def number(document: object, *path: str) -> int | None:
    """A whole number, written as one or as text: quantities like nvidia.com/gpu come as text."""
    found = at(document, *path)
    if isinstance(found, bool):
        return None
    if isinstance(found, float):
        return int(found) if math.isfinite(found) else None
    if isinstance(found, int):
        return found
    short = isinstance(found, str) and found.isascii() and found.isdecimal() and len(found) <= 12  # noqa: PLR2004
    return int(str(found)) if short else None


def instant(document: object, *path: str) -> datetime | None:
    """An instant in UTC: RFC 3339, or seconds since 1970 as the AWS CLI can print them."""
    found = at(document, *path)
    if found is None:
        return None
    try:
        if isinstance(found, int | float) and not isinstance(found, bool):
            return datetime.fromtimestamp(found, UTC)
        if not isinstance(found, str):
            return None
        read = datetime.fromisoformat(found)
        return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def condition(document: object, kind: str) -> Doc:
    """A condition of an object's status by its type; empty where it has none."""
    for each in docs(document, "status", "conditions"):
        if each.get("type") == kind:
            return each
    return NOTHING
