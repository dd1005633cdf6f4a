"""The namespaces of classes in the API server: whose they are, and what the lab sets in them by server-side apply."""

from dataclasses import dataclass

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.connection import Connection, Object
from lamplighter.adapters.kubernetes.overrides import APPLY_PATCH
from lamplighter.domain.classes.objects import LAB_LABEL, namespace_path

MANAGER = "lamplighter-classes"


@dataclass(frozen=True, slots=True)
class NamespaceFacts:
    """A namespace that exists."""

    lab: str | None
    """The lab whose label it has; None without the label."""
    ends: bool
    """Somebody deletes it."""


@border
def namespace(connection: Connection, name: str) -> NamespaceFacts | None:
    """The namespace of this name; None where there is none."""
    live = connection.get(namespace_path(name))
    if not live:
        return None
    metadata = live["metadata"]
    label = (metadata.get("labels") or {}).get(LAB_LABEL)
    return NamespaceFacts(None if label is None else str(label), "deletionTimestamp" in metadata)


@border
def apply(connection: Connection, path: str, body: Object) -> None:
    """Set the whole of what we set of an object, and take fields of ours back from others. May be repeated."""
    query = {"fieldManager": MANAGER, "force": "true"}
    answer = connection.ask("PATCH", path, body=body, query=query, content_type=APPLY_PATCH)
    connection.expect(answer, "PATCH", path)
