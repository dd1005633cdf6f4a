"""Reads raw API documents without trusting their shape. A value that is missing, or of another type, reads as nothing.

Knows nothing of the meaning. Other systems wrote the snapshot, so no odd document may stop a diagnosis.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Doc = Mapping[str, object]
NOTHING: Doc = {}


def at(document: Any, *path: str) -> object:  # noqa: ANN401 -- whatever JSON has
    """The value at the path; None where any step of it is missing."""
    try:
        for step in path:
            document = document.get(step)
    except AttributeError:
        # Only a mapping has keys; no other JSON value has.
        return None
    value: object = document
    return value


def doc(document: object, *path: str) -> Doc:
    """The mapping at the path; an empty one where there is none."""
    value = at(document, *path)
    return value if type(value) is dict or isinstance(value, Mapping) else NOTHING


def text(document: object, *path: str) -> str:
    """The text at the path; "" for any other value."""
    value = at(document, *path)
    return value if isinstance(value, str) else ""


def docs(document: object, *path: str) -> list[Doc]:
    """The mappings in the list at the path."""
    value = at(document, *path)
    if type(value) is list:
        return [item for item in value if type(item) is dict or isinstance(item, Mapping)]
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return [item for item in value if isinstance(item, Mapping)]


def number(document: object, *path: str) -> int | None:
    """A whole number, as a number or as text: quantities like nvidia.com/gpu come as text."""
    value = at(document, *path)
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    if isinstance(value, int):
        return value
    short = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 12  # noqa: PLR2004
    return int(str(value)) if short else None


def instant(document: object, *path: str) -> datetime | None:
    """An instant in UTC: RFC 3339, or seconds since 1970 as the AWS CLI can print them."""
    value = at(document, *path)
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if not isinstance(value, str):
            return None
        read = datetime.fromisoformat(value)
        return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def condition(document: object, kind: str) -> Doc:
    """A condition of an object's status, by type; empty where it has none."""
    for item in docs(document, "status", "conditions"):
        if item.get("type") == kind:
            return item
    return NOTHING
