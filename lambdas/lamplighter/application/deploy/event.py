"""Reads the event that CloudFormation sends to a custom resource."""

from collections.abc import Mapping
from typing import TypeAlias

Event: TypeAlias = Mapping[str, object]


def properties_of(event: Event) -> dict[str, str]:
    found = event.get("ResourceProperties")
    return {key: str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}


def before(event: Event) -> dict[str, str] | None:
    """The deployed properties; None before the first deploy."""
    found = event.get("OldResourceProperties")
    return {key: str(value) for key, value in found.items()} if isinstance(found, Mapping) else None


def known_as(event: Event) -> str:
    """The physical id that CloudFormation knows; an id of ours for a resource that was never created."""
    return str(event.get("PhysicalResourceId") or f"{event.get('LogicalResourceId', 'resource')}-not-created")
