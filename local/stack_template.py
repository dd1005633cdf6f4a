"""One stack of a cloud assembly."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class StackTemplate:
    """One stack of an assembly, ready to deploy."""

    name: str
    text: str
    tags: Mapping[str, str]
