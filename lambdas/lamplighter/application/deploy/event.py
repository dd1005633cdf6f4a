"""What CloudFormation sends to a custom resource, read."""

from collections.abc import Mapping
from typing import TypeAlias

Event: TypeAlias = Mapping[str, object]


def properties_of(event: Event) -> dict[str, str]:
    found = event.get("ResourceProperties")
    return {key: str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}


def before(event: Event) -> dict[str, str] | None:
    """The properties that are deployed; None where nothing is."""
    found = event.get("OldResourceProperties")
    return {key: str(value) for key, value in found.items()} if isinstance(found, Mapping) else None


def known_as(event: Event) -> str:
    """The physical id that CloudFormation knows; one of ours for a resource that never came to be."""
    return str(event.get("PhysicalResourceId") or f"{event.get('LogicalResourceId', 'resource')}-not-created")
