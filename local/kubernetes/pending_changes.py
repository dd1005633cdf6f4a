"""Changes of the cluster that a watch has not shown yet.

Every writer records the API server's answer: each `admin` of the control plane, the fleet's among them, and everybody
who comes through the gateway. Objects (local/fleet/world.py) know the versions that a watch has reached.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

Object = dict[str, Any]


class Seen(Protocol):
    """The objects of one kind that a watch has shown."""

    @property
    def version(self) -> int: ...

    def has(self, uid: str) -> bool: ...

    def find(self, namespace: str, name: str) -> Object | None: ...


class Written:
    """`seen` are the watched kinds by their name in objects (`Pod`); `noted` is called for every note."""

    def __init__(self, seen: Mapping[str, Seen], noted: Callable[[], None] = lambda: None) -> None:
        self._seen = dict(seen)
        self._noted = noted
        self._versions: dict[str, int] = {}
        self._gone: set[tuple[str, str]] = set()
        self._evicted: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def add(self, kind: str, seen: Seen) -> None:
        """From now on a watch follows one more kind."""
        with self._lock:
            self._seen[kind] = seen

    def note(self, path: str, answer: Object) -> None:
        """Records that a write to `path` succeeded with this answer."""
        kind = str(answer.get("kind"))
        if kind == "Scale":  # the answer of a scale subresource has the version of the object itself
            kind = self._kind(path.split("/")[-3])
        metadata, details = answer.get("metadata") or {}, answer.get("details") or {}
        with self._lock:
            if path.endswith("/eviction"):
                *_, namespace, _, name, _ = path.split("/")
                self._evicted.add((namespace, name))
            elif kind in self._seen and "resourceVersion" in metadata:
                self._versions[kind] = max(self._versions.get(kind, 0), int(metadata["resourceVersion"]))
            elif kind == "Status" and "uid" in details:
                self._gone.add((str(details.get("kind")), str(details["uid"])))
        self._noted()

    def unseen(self) -> list[str]:
        """The writes that no watch has shown yet."""
        with self._lock:
            late = [kind for kind, version in self._versions.items() if self._seen[kind].version < version]
            self._gone = {each for each in self._gone if self._there(*each)}
            self._evicted = {each for each in self._evicted if self._stays(*each)}
            return [
                *(f"change {self._versions[kind]} of a {kind}" for kind in late),
                *(f"the deletion of {uid}" for _, uid in self._gone),
                *(f"the eviction of {namespace}/{name}" for namespace, name in self._evicted),
            ]

    def _kind(self, plural: str) -> str:
        return next((kind for kind in self._seen if plural in (kind, f"{kind.lower()}s")), plural)

    def _there(self, plural: str, uid: str) -> bool:
        return any(seen.has(uid) for kind, seen in self._seen.items() if plural in (kind, f"{kind.lower()}s"))

    def _stays(self, namespace: str, name: str) -> bool:
        pod = self._seen["Pod"].find(namespace, name)
        return pod is not None and "deletionTimestamp" not in pod["metadata"]
