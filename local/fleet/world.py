"""What all parts of one fleet share: the cluster, the clock's coroutines, delays, logs, and facts about pods."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from local.faults.switches import Switches
from local.fleet.coroutines import Coroutines
from local.fleet.events import Events
from local.fleet.logs import Logs
from local.fleet.network import Network
from local.fleet.timings import Timings
from local.kubernetes.api import KubernetesApi, Object

TERMINAL = ("Succeeded", "Failed")


class RealProgram(Protocol):
    """A process on this machine that runs for a container."""

    @property
    def serves(self) -> bool: ...

    @property
    def ended(self) -> bool: ...

    @property
    def status(self) -> int | None: ...

    def stop(self) -> None: ...


#: Starts a real program for a pod and the spec of its container. It gets a function that prints, and one to call when
#: something has changed.
Start = Callable[[Object, Object, Callable[[str], None], Callable[[], None]], RealProgram]


class Objects:
    """The newest version of every object of one kind that a watch has shown, by namespace and name."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], Object] = {}
        self._version = 0
        self._lock = threading.Lock()

    @property
    def version(self) -> int:
        """The resource version up to which changes were shown."""
        return self._version

    def note(self, change: str, item: Object) -> None:
        with self._lock:
            if change == "DELETED":
                self._objects.pop(key(item), None)
            else:
                self._objects[key(item)] = item

    def reached(self, version: str) -> None:
        """Everything up to this resource version was shown, and all followers were called."""
        self._version = max(self._version, int(version))

    def has(self, uid: str) -> bool:
        with self._lock:
            return any(item["metadata"]["uid"] == uid for item in self._objects.values())

    def all(self) -> list[Object]:
        with self._lock:
            return list(self._objects.values())

    def find(self, namespace: str, name: str) -> Object | None:
        with self._lock:
            return self._objects.get((namespace, name))


@dataclass(frozen=True)
class World:
    """All time in it is the lab's."""

    api: KubernetesApi
    coroutines: Coroutines
    timings: Timings
    kubelet_port: int
    logs: Logs
    faults: Switches = field(default_factory=Switches)
    network: Network = field(default_factory=Network)
    pods: Objects = field(default_factory=Objects)
    nodes: Objects = field(default_factory=Objects)
    daemonsets: Objects = field(default_factory=Objects)
    revisions: Objects = field(default_factory=Objects)
    """The ControllerRevisions: the templates of DaemonSets by their hashes."""
    policies: Objects = field(default_factory=Objects)
    replicasets: Objects = field(default_factory=Objects)
    deployments: Objects = field(default_factory=Objects)
    jobs: Objects = field(default_factory=Objects)
    budgets: Objects = field(default_factory=Objects)
    node_features: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """By node, the labels of its NodeFeature object, as the master of NFD has seen them."""
    real_programs: dict[str, Start] = field(default_factory=dict)
    """By image, without its tag."""
    events: Events = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", Events(self.api, self.timestamp))

    def timestamp(self) -> str:
        """Now, in the form of the cluster's own components."""
        return datetime.fromtimestamp(self.coroutines.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def pods_on(self, node: str) -> list[Object]:
        """Every pod that is bound to the node."""
        return [pod for pod in self.pods.all() if pod["spec"].get("nodeName") == node]

    def event(self, item: Object, reason: str, message: str, *, warning: bool = False) -> None:
        """Records a kubelet's event about a pod, as `kubectl describe` shows it; best effort, as the kubelet's."""
        metadata = item["metadata"]
        about = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        source = {"component": "kubelet", "host": item["spec"].get("nodeName", "")}
        self.events.record(about, source, reason, message, warning=warning)

    def node_event(self, node: str, component: str, reason: str, message: str) -> None:
        """Records a warning about a node; node events are in the namespace default."""
        # As the kubelet writes it: a node's uid is its name.
        about = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": node}
        self.events.record(about, {"component": component, "host": node}, reason, message, warning=True)


def key(item: Object) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def path(item: Object) -> str:
    """The API path of a pod."""
    namespace, name = key(item)
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def labels(item: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = item["metadata"].get("labels") or {}
    return found


def ready(pod: Object) -> bool:
    """Whether the pod counts as ready: all its containers run, on a node with heartbeats."""
    conditions = pod.get("status", {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def gpus_of(pod: Object, resource: str = "nvidia.com/gpu") -> int:
    """How many units of a GPU resource the pod holds."""
    wanted = [
        int((container.get("resources", {}).get("limits") or {}).get(resource, 0))
        for container in pod["spec"]["containers"]
    ]
    return sum(wanted)
