"""Events as the kubelet records them: a repeated event increases a count, and no new event is written."""

import threading
from collections.abc import Callable
from contextlib import suppress

from local.kubernetes.api import ApiError, KubernetesApi, Object

#: This many of the latest events are remembered, to recognise repeated ones.
_REMEMBERED = 4096


class Events:
    """Best effort, like the kubelet's: an event that the API server does not accept is lost."""

    def __init__(self, api: KubernetesApi, timestamp: Callable[[], str]) -> None:
        self._api = api
        self._timestamp = timestamp
        self._seen: dict[tuple[str, ...], tuple[str, int]] = {}
        self._lock = threading.Lock()

    def record(self, about: Object, source: Object, reason: str, message: str, *, warning: bool) -> None:
        """`about` is the object as an event names it, `source` the component and its host."""
        namespace = about.get("namespace", "default")
        what = (about["kind"], namespace, about["uid"], reason, message)
        at = self._timestamp()
        address = f"/api/v1/namespaces/{namespace}/events"
        with self._lock:
            name, count = self._seen.get(what, ("", 0))
        # A namespace that is being deleted accepts no new events.
        with suppress(ApiError):
            more = {"count": count + 1, "lastTimestamp": at}
            if not count or self._api.merge(f"{address}/{name}", more) is None:
                event = {
                    "metadata": {"generateName": f"{about['name']}.", "namespace": namespace},
                    "involvedObject": about,
                    "reason": reason,
                    "message": message,
                    "type": "Warning" if warning else "Normal",
                    "source": source,
                    "firstTimestamp": at,
                    "lastTimestamp": at,
                    "count": 1,
                }
                name, count = self._api.request("POST", address, event)["metadata"]["name"], 0
            self._remember(what, name, count + 1)

    def _remember(self, what: tuple[str, ...], name: str, count: int) -> None:
        with self._lock:
            self._seen[what] = (name, count)
            while len(self._seen) > _REMEMBERED:
                self._seen.pop(next(iter(self._seen)))
