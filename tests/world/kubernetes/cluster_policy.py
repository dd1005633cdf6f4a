"""The world's ClusterPolicy: one object, with server-side apply and the managers of its fields.

It works like the API server, for the part with mappings and whole values only.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]
Path = tuple[str, ...]


class ClusterPolicy:
    """Helm manages it at first. A forced apply takes a field over, and gives up the fields that it leaves out."""

    def __init__(self, spec: Json) -> None:
        self._owned: dict[str, dict[Path, Any]] = {"helm": dict(_leaves({"spec": spec}))}
        self.version = 1

    @property
    def spec(self) -> Json:
        return self.live()["spec"]

    @property
    def managers(self) -> set[str]:
        """The managers of a field."""
        return {manager for manager, fields in self._owned.items() if fields}

    def live(self) -> Json:
        """The object as a read returns it."""
        found: Json = {
            "apiVersion": "nvidia.com/v1",
            "kind": "ClusterPolicy",
            "metadata": {
                "name": "cluster-policy",
                "uid": "u-1",
                "resourceVersion": str(self.version),
                "managedFields": [
                    {"manager": manager, "operation": "Apply", "fieldsV1": _fields(owned)}
                    for manager, owned in self._owned.items()
                    if owned
                ],
            },
            "spec": {},
        }
        for owned in self._owned.values():
            for path, value in owned.items():
                part = found
                for step in path[:-1]:
                    part = part.setdefault(step, {})
                part[path[-1]] = value
        return found

    def apply(self, body: Json, query: Mapping[str, str]) -> tuple[int, Json]:
        """One server-side apply."""
        version = (body.get("metadata") or {}).get("resourceVersion")
        if version not in {None, str(self.version)}:
            return 409, {
                "message": "the object has been modified; please apply your changes to the latest version"
            }
        manager, asked = query["fieldManager"], dict(_leaves({"spec": body.get("spec") or {}}))
        for other, owned in self._owned.items():
            taken = {path for path, value in asked.items() if path in owned and owned[path] != value}
            if other == manager or not taken:
                continue
            if query.get("force") != "true":
                return 409, {"message": f"Apply failed with a conflict with {other!r}"}
            for path in taken:
                del owned[path]
        self._owned[manager] = asked
        self.version += 1
        return 200, self.live()


def _leaves(part: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(part, dict) and part:
        for key, value in part.items():
            yield from _leaves(value, (*path, key))
    elif path != ("spec",):
        yield path, part


def _fields(owned: Mapping[Path, Any]) -> Json:
    found: Json = {}
    for path in owned:
        part = found
        for step in path:
            part = part.setdefault(f"f:{step}", {})
    return found
