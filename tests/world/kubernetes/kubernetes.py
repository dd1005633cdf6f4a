"""The API server's answers about the world's machines: nodes that join and leave, pods that run and end.

It replaces kubernetes' own DynamicClient. Nodes follow from their machines and the time.
"""

import functools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import ProtocolError

from tests.gpu_outputs import VECTOR_ADD, smi, smi_row
from tests.world.aws.event_queue import EventQueue
from tests.world.aws.machines import ZONE, Machine, Machines
from tests.world.kubernetes.cluster_policy import ClusterPolicy
from tests.world.kubernetes.gpu_jobs import ranks
from tests.world.outside import NotInTheWorld, Passage

Json = dict[str, Any]
CHECK_RUNS = (10.0, 40.0)
QUICK_RUNS = (10.0, 20.0)
"""Then the two minutes of the ladder are enough, however long the GPU set-up took. For a lease that must be proven."""
FETCHES = timedelta(seconds=5)
CONFIG = "nvidia.com/device-plugin.config"
LEAVES_IN = (1.0, 30.0)
PEOPLE = "class"
"""The namespace of people who work on nodes."""
OF_NODE_POOLS = ("karpenter.sh", "karpenter.k8s.aws", "eks.amazonaws.com", "apiextensions.k8s.io")
Others = Callable[[str, list[str], Any, Mapping[str, str]], tuple[int, Any] | None]
LISTS = (
    "clusterpolicies",
    "daemonsets",
    "deployments",
    "events",
    "jobs",
    "poddisruptionbudgets",
    "runtimeclasses",
)


@dataclass
class Pod:
    """A pod on a machine. `ends` is when it finishes by itself, `gone` when it was deleted."""

    manifest: Json
    machine: Machine
    created: datetime
    ends: datetime | None = None
    exit_code: int = 0
    printed: str = ""
    deleted: datetime | None = None
    gone: datetime | None = None
    waits: bool = False
    """It waits for a GPU that no node offers, or for a node that is gone."""

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"]["namespace"])


@dataclass
class Health:
    """The state of the GPUs of new machines. A history changes it."""

    broken: bool = False
    """Checks say that the GPU does not work."""
    broken_on: set[str] = field(default_factory=set)
    """Nodes on which the checks find a broken GPU."""
    garbled: bool = False
    """Checks print text that no parser can read."""
    silent: bool = False
    """The API server does not answer."""
    shut_out: bool = False
    """It answers only inside the cluster: its controllers go on, and our code learns nothing."""
    stubborn: bool = False
    """No pod may be evicted (a PodDisruptionBudget)."""
    told: set[tuple[str, str]] = field(default_factory=set)
    """Checks and nodes whose pod really found a working GPU: the truth behind a verdict."""

    @property
    def unheard(self) -> bool:
        """Whether nobody outside the cluster gets an answer."""
        return self.silent or self.shut_out


class Kubernetes:
    def __init__(self, event_queue: EventQueue, chance: random.Random, machines: Machines) -> None:
        self._event_queue, self._chance, self._machines = event_queue, chance, machines
        self.labels_of: Callable[[Machine], dict[str, str]] = lambda _machine: {}
        """The labels of a node that tell its pool."""
        self.pods: dict[tuple[str, str], Pod] = {}
        self.health = Health()
        self.check_runs = CHECK_RUNS
        """How long a check runs, at least and at most, in seconds."""
        self.policy = ClusterPolicy({})
        self.others: Others = lambda _method, _parts, _body, _query: None
        """Answers to requests about the objects of a kind of capacity; None where it has none of that name."""
        self.reachable: Callable[[], bool] = lambda: True
        """Whether pods of two nodes reach each other."""
        self.jobs: dict[tuple[str, str], Json] = {}
        self.namespaces: dict[str, Json] = {}
        """The namespaces of classes and the objects that the lab applied in them, by path."""
        self.evicted: list[tuple[datetime, Machine]] = []
        self.asked_to_go: Callable[[Machine], None] = lambda _machine: None
        """Called for each machine whose people are asked to leave, before they do."""
        machines.changed.append(self._changed)

    def client(self, cross: Passage) -> Any:
        """The replacement of DynamicClient."""

        def request(method: str, path: str, **sent: Any) -> Any:
            body, query = sent.get("body"), dict(sent.get("query_params") or [])
            if self.health.unheard:
                raise ProtocolError("the API server is silent")
            operation = f"{method} {_kind(path)}"
            try:
                status, said = cross(
                    "kubernetes",
                    operation,
                    lambda: self.answer(method, path, body, query),
                    lambda: json.dumps([path, body, query]),
                )
            except (ClientError, BotoCoreError) as error:
                raise ProtocolError(str(error)) from error
            text = said if isinstance(said, str) else json.dumps(said)
            if status >= 400:
                failed = ApiException(status=status, reason=text)
                failed.body, failed.headers = text, {}
                raise failed
            return SimpleNamespace(
                status=status, headers={"Date": _date(self._event_queue.now)}, data=text.encode()
            )

        return SimpleNamespace(request=request)

    def nodes(self, label: tuple[str, str] | None = None) -> list[Machine]:
        """The machines that are nodes now, with this label of a pool."""
        return [
            machine
            for machine in self._machines.machines.values()
            if self._joined(machine) and (label is None or label in self.labels_of(machine).items())
        ]

    def _joined(self, machine: Machine) -> bool:
        now = self._event_queue.now
        if machine.held:
            return True
        if machine.running is None or now < machine.running + timedelta(seconds=machine.joins_after):
            return False
        joined = machine.running + timedelta(seconds=machine.joins_after)
        if machine.shutting_down is not None and machine.shutting_down < joined:
            return False
        return machine.ended is None or now < machine.ended + timedelta(seconds=machine.leaves_after)

    def work_on(self, machine: Machine, gpus: int = 1) -> None:
        """Somebody's pod runs on the machine from now on. It does not end by itself."""
        machine.working = True
        limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
        manifest = {
            "metadata": {"name": f"notebook-{machine.id}", "namespace": PEOPLE},
            "spec": {"containers": [{"resources": {"limits": limits}}]},
        }
        self._add(Pod(manifest, machine, self._event_queue.now))

    def _changed(self, machine: Machine) -> None:
        if machine.ended is not None:
            for pod in self._on(machine):
                del self.pods[pod.namespace, pod.name]

    def _on(self, machine: Machine) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.machine is machine and not self._is_gone(pod)]

    def _is_gone(self, pod: Pod) -> bool:
        return pod.gone is not None and self._event_queue.now >= pod.gone

    def _add(self, pod: Pod) -> None:
        self.pods[pod.namespace, pod.name] = pod

    def answer(self, method: str, path: str, body: Any, query: Mapping[str, str]) -> tuple[int, Any]:
        """The status of a request, and what the API server says."""
        parts = path.strip("/").split("/")
        other = self.others(method, parts, body, query)
        if other is not None:
            return other
        match (method, parts):
            case ("GET", ["api", "v1", "nodes"]):
                key, _, value = query["labelSelector"].partition("=")
                return 200, {"items": [self._node(machine) for machine in self.nodes((key, value))]}
            case ("PATCH", ["api", "v1", "nodes", name]):
                return self._patch(name, body)
            case ("GET", ["api", "v1", "pods"]):
                return 200, {"items": [self._pod(pod) for pod in self._selected(query)]}
            case ("GET", ["api", "v1", "namespaces", space, "pods"]):
                found = [pod for pod in self._selected(query) if pod.namespace == space]
                return 200, {"items": [self._pod(pod) for pod in found]}
            case ("POST", ["api", "v1", "namespaces", space, "pods"]):
                return self._create(space, body)
            case ("GET", ["api", "v1", "namespaces", space, "pods", name, "log"]):
                pod = self.pods.get((space, name))
                return (200, pod.printed) if pod else (404, {"message": "no such pod"})
            case ("POST", ["api", "v1", "namespaces", space, "pods", name, "eviction"]):
                return self._evict(space, name)
            case ("DELETE", ["api", "v1", "namespaces", space, "pods", name]):
                pod = self.pods.get((space, name))
                if pod is None or self._is_gone(pod):
                    return 404, {"message": "no such pod"}
                self._goes(pod, float(body["gracePeriodSeconds"]))
                return 200, {}
            case ("GET", ["api", "v1", "namespaces", _, "services"]):
                return 200, {"items": []}
            case ("POST", ["api", "v1", "namespaces", _, "services"]):
                return 201, {}
            case ("DELETE", ["api", "v1", "namespaces", _, "services", _]):
                return 404, {"message": "no such service"}
            case ("GET", ["apis", "batch", "v1", "namespaces", _, "jobs"]):
                return 200, {"items": list(self._selected_jobs(query))}
            case ("POST", ["apis", "batch", "v1", "namespaces", space, "jobs"]):
                return self._create_job(space, body)
            case ("DELETE", ["apis", "batch", "v1", "namespaces", space, "jobs", name]):
                return self._delete_job(space, name)
            case ("GET", ["api", "v1", "nodes", name]):
                machine = next((each for each in self.nodes() if each.node == name), None)
                return (200, self._node(machine)) if machine else (404, {"message": "no such node"})
            case ("GET", ["api", "v1", "namespaces", space, "events"]):
                return 200, {"items": [_pulled(pod) for pod in self.pods.values() if pod.namespace == space]}
            case ("GET", ["apis", "nvidia.com", "v1", "clusterpolicies", "cluster-policy"]):
                return 200, self.policy.live()
            case ("PATCH", ["apis", "nvidia.com", "v1", "clusterpolicies", "cluster-policy"]):
                return self.policy.apply(body, query)
            case ("GET", ["api", "v1", "namespaces", space]):
                live = self.namespaces.get(path)
                return (200, live) if live else (404, {"message": f'namespaces "{space}" not found'})
            case ("PATCH", ["api", "v1", "namespaces", _] | ["api", "v1", "namespaces", _, _, _]) | (
                "PATCH",
                ["apis", "rbac.authorization.k8s.io", "v1", "namespaces", _, _, _],
            ):
                self.namespaces[path] = body
                return 200, body
            case ("GET", ["apis", group, *_]) if group in OF_NODE_POOLS:
                return 404, {"message": "the server could not find the requested resource"}
            case ("GET", ["apis", _, "v1", kind]) | ("GET", ["api", "v1", "events" as kind]) if kind in LISTS:
                return 200, {"items": self._listed(kind)}
        raise NotInTheWorld(f"the world's Kubernetes has no {method} {path} yet: add it to tests/world")

    def _selected(self, query: Mapping[str, str]) -> list[Pod]:
        found = [pod for pod in self.pods.values() if not self._is_gone(pod)]
        if not query.keys() & {"fieldSelector", "labelSelector"}:
            return found + [self._validator(machine) for machine in self.nodes() if self._gpus(machine)]
        if "fieldSelector" in query:
            node = query["fieldSelector"].removeprefix("spec.nodeName=")
            return [pod for pod in found if pod.machine.node == node and not pod.waits]
        if " in (" in query["labelSelector"]:
            key, _, values = query["labelSelector"].removesuffix(")").partition(" in (")
            return [pod for pod in found if _labels(pod.manifest).get(key) in values.split(",")]
        key, equals, value = query["labelSelector"].partition("=")
        if (key, value) == ("app", "gpu-operator"):
            return [self._operator()]
        if not equals:
            return [pod for pod in found if key in (pod.manifest["metadata"].get("labels") or {})]
        if (key, value) == ("app", "nvidia-operator-validator"):
            return [self._validator(machine) for machine in self.nodes() if self._gpus(machine)]
        return [pod for pod in found if (pod.manifest["metadata"].get("labels") or {}).get(key) == value]

    def _listed(self, kind: str) -> list[Json]:
        """What a diagnosis lists beside nodes and pods: an operator with its plugin, and no events."""
        match kind:
            case "clusterpolicies":
                metadata, status = {"name": "cluster-policy"}, {"state": "ready"}
                return [{"metadata": metadata, "spec": self.policy.spec, "status": status}]
            case "daemonsets":
                metadata = {"name": "nvidia-device-plugin-daemonset", "namespace": "gpu-operator"}
                return [{"metadata": metadata, "status": {"desiredNumberScheduled": len(self.nodes())}}]
        return []

    def _gpus(self, machine: Machine) -> bool:
        ready = timedelta(seconds=machine.joins_after + machine.gpus_after)
        return machine.running is not None and self._event_queue.now >= machine.running + ready

    def _node(self, machine: Machine) -> Json:
        shares = int(machine.labels.get(CONFIG, "shared-1").removeprefix("shared-").replace("whole", "1"))
        gpus = {"nvidia.com/gpu": str(shares)} if self._gpus(machine) else {}
        offered = gpus if self._plugged() else dict.fromkeys(gpus, "0")
        labels = (
            machine.labels
            | self.labels_of(machine)
            | {
                "node.kubernetes.io/instance-type": "g4dn.xlarge",
                "topology.kubernetes.io/zone": ZONE,
            }
        )
        if gpus:
            labels |= {
                "nvidia.com/gpu.count": "1",
                "nvidia.com/gpu.replicas": str(shares),
                "nvidia.com/gpu.sharing-strategy": "time-slicing" if shares > 1 else "none",
                "nvidia.com/gpu.product": "Tesla-T4-SHARED" if shares > 1 else "Tesla-T4",
                "nvidia.com/cuda.driver-version.full": "580.159.03",
            }
        spec: Json = {"providerID": f"aws:///{ZONE}/{machine.id}", "taints": list(machine.taints)}
        if machine.cordoned:
            spec["unschedulable"] = True
        joined = _written((machine.running or machine.launched) + timedelta(seconds=machine.joins_after))
        return {
            "metadata": {
                "name": machine.node,
                "creationTimestamp": joined,
                "labels": labels,
                "annotations": dict(machine.annotations),
            },
            "spec": spec,
            "status": {
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": joined}],
                "capacity": gpus,
                "allocatable": offered,
            },
        }

    def _patch(self, name: str, body: Json) -> tuple[int, Json]:
        machine = next((each for each in self.nodes() if each.node == name), None)
        if machine is None:
            return 404, {"message": "no such node"}
        machine.labels |= (body.get("metadata") or {}).get("labels") or {}
        for key, value in ((body.get("metadata") or {}).get("annotations") or {}).items():
            if value is None:
                machine.annotations.pop(key, None)
            else:
                machine.annotations[key] = value
        if "unschedulable" in (body.get("spec") or {}):
            machine.cordoned = bool(body["spec"]["unschedulable"])
        return 200, {}

    def _validator(self, machine: Machine) -> Pod:
        manifest = {
            "metadata": {
                "name": f"validator-{machine.id}",
                "namespace": "gpu-operator",
                "ownerReferences": [{"kind": "DaemonSet"}],
                "labels": {"app": "nvidia-operator-validator"},
            },
            "spec": {"containers": []},
        }
        joined = (machine.running or machine.launched) + timedelta(seconds=machine.joins_after + 1)
        return Pod(manifest, machine, joined)

    def _operator(self) -> Pod:
        """The operator's own pod, on a system node. The world knows nothing else of that node."""
        labels = {"app": "gpu-operator", "pod-template-hash": "5d8f7c9b6d"}
        metadata = {"name": "gpu-operator", "namespace": "gpu-operator", "labels": labels}
        started = self._event_queue.now - timedelta(days=1)
        system = Machine(id="i-system", pool="", group="system", launched=started, running=started)
        return Pod({"metadata": metadata, "spec": {"containers": []}}, system, started)

    def _create(self, space: str, manifest: Json) -> tuple[int, Json]:
        name = manifest["metadata"]["name"]
        known = self.pods.get((space, name))
        if known is not None and not self._is_gone(known):
            return 409, {"message": "already exists"}
        terms = manifest["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        node = terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
        machine = next((each for each in self.nodes() if each.node == node), None)
        now = self._event_queue.now
        if machine is None:
            # The API server accepts it, but no scheduler ever finds a place for it.
            was = next(each for each in self._machines.machines.values() if each.node == node)
            self._add(Pod(manifest, was, now, waits=True))
            return 201, {}
        check = manifest["metadata"]["labels"]["lamplighter/check"]
        if check == "ahead":
            self._add(Pod(manifest, machine, now, ends=now + FETCHES))
            return 201, {}
        pod = Pod(
            manifest, machine, now, ends=now + timedelta(seconds=self._chance.uniform(*self.check_runs))
        )
        asks = str(manifest["spec"]["containers"]).count("nvidia.com/gpu") > 0
        pod.waits = asks and not self._plugged()
        pod.printed = smi(smi_row(name="Tesla T4")) if check == "nvidia-smi" else VECTOR_ADD
        if self.health.broken or node in self.health.broken_on:
            pod.exit_code, pod.printed = 1, "Failed to initialize NVML: Driver/library version mismatch\n"
        elif self.health.garbled:
            pod.printed = "\x00 half a line, and th"
        else:
            self.health.told.add((check, node))
        self._add(pod)
        return 201, {}

    def _plugged(self) -> bool:
        """Whether the operator's device plugin runs: it is on, and tolerates the taints of the nodes."""
        spec = self.policy.spec
        given = (spec.get("daemonsets") or {}).get("tolerations")
        fits = given is None or any(each.get("value") != "present" for each in given)
        return bool((spec.get("devicePlugin") or {}).get("enabled", True)) and fits

    def _selected_jobs(self, query: Mapping[str, str]) -> Iterator[Json]:
        selector = query.get("labelSelector", "")
        key, _, values = selector.removesuffix(")").partition(" in (" if " in (" in selector else "=")
        for job in self.jobs.values():
            if not selector or _labels(job).get(key) in values.split(","):
                yield job

    def _create_job(self, space: str, job: Json) -> tuple[int, Json]:
        name = job["metadata"]["name"]
        if (space, name) in self.jobs:
            return 409, {"message": "already exists"}
        self.jobs[space, name] = job
        for manifest, node, ends, code, said in ranks(
            job, reachable=self.reachable(), now=self._event_queue.now
        ):
            machine = next((each for each in self.nodes() if each.node == node), None)
            if machine is not None:
                self._add(
                    Pod(manifest, machine, self._event_queue.now, ends=ends, exit_code=code, printed=said)
                )
        return 201, {}

    def _delete_job(self, space: str, name: str) -> tuple[int, Json]:
        if self.jobs.pop((space, name), None) is None:
            return 404, {"message": "no such job"}
        for pod in self.pods.values():
            owners = pod.manifest["metadata"].get("ownerReferences") or []
            if pod.namespace == space and any(owner.get("name") == name for owner in owners):
                pod.gone = self._event_queue.now
        return 200, {}

    def _evict(self, space: str, name: str) -> tuple[int, Json]:
        pod = self.pods.get((space, name))
        if pod is None or self._is_gone(pod):
            return 404, {"message": "no such pod"}
        if self.health.stubborn:
            return 429, {"message": "Cannot evict pod as it would violate the pod's disruption budget."}
        self.evicted.append((self._event_queue.now, pod.machine))
        if pod.deleted is None:
            if pod.namespace == PEOPLE:
                self.asked_to_go(pod.machine)
            pod.deleted = self._event_queue.now
            self._goes(pod, self._chance.uniform(*LEAVES_IN))
        return 201, {}

    def _goes(self, pod: Pod, seconds: float) -> None:
        """The machine is gone after this time. When its last notebook is gone, nobody works on it."""
        machine = pod.machine
        pod.gone = self._event_queue.now + timedelta(seconds=seconds)

        def gone() -> None:
            if machine.working and not any(each.namespace == PEOPLE for each in self._on(machine)):
                machine.working = False

        self._event_queue.after(seconds, gone)

    def _pod(self, pod: Pod) -> Json:
        metadata = {**pod.manifest["metadata"], "creationTimestamp": _written(pod.created)}
        if pod.deleted is not None:
            metadata["deletionTimestamp"] = _written(pod.deleted)
        if pod.waits:
            return _waiting(pod, metadata)
        done = pod.ends is not None and self._event_queue.now >= pod.ends
        phase = "Running" if not done else "Succeeded" if pod.exit_code == 0 else "Failed"
        began = {"startedAt": _written(pod.created)}
        state: Json = {"running": began}
        if done and pod.ends is not None:
            ended = {"exitCode": pod.exit_code, "finishedAt": _written(pod.ends)}
            state = {"terminated": began | ended}
        return {
            "metadata": metadata,
            "spec": {**pod.manifest["spec"], "nodeName": pod.machine.node},
            "status": {
                "phase": phase,
                "conditions": [
                    {"type": "Ready", "status": "False" if done else "True"},
                    {"type": "PodScheduled", "status": "True", "lastTransitionTime": _written(pod.created)},
                ],
                "containerStatuses": [{"state": state}],
            },
        }


def _labels(manifest: Json) -> dict[str, str]:
    return manifest["metadata"].get("labels") or {}


def _waiting(pod: Pod, metadata: Json) -> Json:
    """A pod that waits because no node has a free GPU."""
    said = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    return {
        "metadata": metadata,
        "spec": pod.manifest["spec"],
        "status": {"phase": "Pending", "conditions": [condition]},
    }


def _pulled(pod: Pod) -> Json:
    message = 'Container image "check" already present on machine'
    return {"involvedObject": {"name": pod.name}, "reason": "Pulled", "message": message}


def _kind(path: str) -> str:
    parts = path.strip("/").split("/")
    return (
        parts[-1]
        if parts[-1] in {"eviction", "events", "jobs", "log", "nodes", "pods", "services"}
        else parts[-2]
    )


@functools.lru_cache(maxsize=1)
def _date(now: datetime) -> str:
    """A Date header. Most calls of a function are at one instant."""
    return format_datetime(now, usegmt=True)


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
