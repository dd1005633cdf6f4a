"""What every part of one fleet shares: the cluster, the clock's stories, delays, logs, and what is known of pods."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from local.fleet.logs import Logs
from local.fleet.stories import Stories
from local.fleet.timings import Timings
from local.kubernetes.api import ApiError, KubernetesApi, Object

TERMINAL = ("Succeeded", "Failed")


class Objects:
    """The newest version of every object of one kind that a watch has shown, by namespace and name."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], Object] = {}
        self._lock = threading.Lock()

    def note(self, change: str, item: Object) -> None:
        with self._lock:
            if change == "DELETED":
                self._objects.pop(key(item), None)
            else:
                self._objects[key(item)] = item

    def all(self) -> list[Object]:
        with self._lock:
            return list(self._objects.values())

    def find(self, namespace: str, name: str) -> Object | None:
        with self._lock:
            return self._objects.get((namespace, name))


@dataclass(frozen=True)
class World:
    """Kubernetes keeps the machine's time; only delays are the lab's."""

    api: KubernetesApi
    stories: Stories
    timings: Timings
    kubelet_port: int
    logs: Logs = field(default_factory=Logs)
    pods: Objects = field(default_factory=Objects)
    nodes: Objects = field(default_factory=Objects)
    daemonsets: Objects = field(default_factory=Objects)
    policies: Objects = field(default_factory=Objects)

    def pods_on(self, node: str) -> list[Object]:
        """Every pod that is bound to the node."""
        return [pod for pod in self.pods.all() if pod["spec"].get("nodeName") == node]

    def event(self, item: Object, reason: str, message: str, *, warning: bool = False) -> None:
        """Record a kubelet's event about a pod, as `kubectl describe` shows it; best effort, as the kubelet's."""
        metadata, at = item["metadata"], timestamp()
        namespace = metadata["namespace"]
        event = {
            "metadata": {"generateName": f"{metadata['name']}.", "namespace": namespace},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": namespace,
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
            "reason": reason,
            "message": message,
            "type": "Warning" if warning else "Normal",
            "source": {"component": "kubelet", "host": item["spec"].get("nodeName", "")},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        }
        # A namespace that is being deleted takes no more events.
        with suppress(ApiError):
            self.api.request("POST", f"/api/v1/namespaces/{namespace}/events", event)


def key(item: Object) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def path(item: Object) -> str:
    """The address of a pod."""
    namespace, name = key(item)
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def labels(item: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = item["metadata"].get("labels") or {}
    return found


def timestamp() -> str:
    """Now, as the cluster's own components write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def gpus_of(pod: Object, resource: str = "nvidia.com/gpu") -> int:
    """How many units of a GPU resource the pod holds."""
    wanted = [
        int((container.get("resources", {}).get("limits") or {}).get(resource, 0))
        for container in pod["spec"]["containers"]
    ]
    return sum(wanted)
