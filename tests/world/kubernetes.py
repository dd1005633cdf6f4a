"""The API server's answers about the world's machines: nodes that join and leave, pods that run and end.

Stands where kubernetes' own DynamicClient stands; nodes follow from their machines and the time.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import ProtocolError

from tests.gpu_outputs import VECTOR_ADD, smi, smi_row
from tests.world.agenda import Agenda
from tests.world.machines import ZONE, Machine, Machines
from tests.world.outside import NotInTheWorld, Passage

Json = dict[str, Any]
CHECK_RUNS = (10.0, 40.0)
LEAVES_IN = (1.0, 30.0)


@dataclass
class Pod:
    """A pod on a machine; `ends` is when it is finished by itself, `gone` when it was deleted."""

    manifest: Json
    machine: Machine
    created: datetime
    ends: datetime | None = None
    exit_code: int = 0
    printed: str = ""
    deleted: datetime | None = None
    gone: datetime | None = None

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"]["namespace"])


@dataclass
class Health:
    """What the GPUs of new machines are like: a history changes it."""

    broken: bool = False
    """Checks say that the GPU does not work."""
    garbled: bool = False
    """Checks print something that nobody can read."""
    silent: bool = False
    """The API server does not answer."""
    stubborn: bool = False
    """No pod may be evicted (a PodDisruptionBudget)."""
    told: set[tuple[str, str]] = field(default_factory=set)
    """Checks and nodes whose pod really said that the GPU works: the truth behind a verdict."""


class Kubernetes:
    """The API server of the one cluster."""

    def __init__(self, agenda: Agenda, chance: random.Random, machines: Machines) -> None:
        self._agenda, self._chance, self._machines = agenda, chance, machines
        self.nodegroup_of: dict[str, str] = {}
        self.pods: dict[tuple[str, str], Pod] = {}
        self.health = Health()
        self.policy: Json = {}
        """The spec of the operator's ClusterPolicy."""
        self.evicted: list[tuple[datetime, Machine]] = []
        machines.changed.append(self._changed)

    def client(self, cross: Passage) -> Any:
        """What takes the place of DynamicClient."""

        def request(method: str, path: str, **sent: Any) -> Any:
            body, query = sent.get("body"), dict(sent.get("query_params") or [])
            if self.health.silent:
                raise ProtocolError("the API server is silent")
            operation = f"{method} {_kind(path)}"
            try:
                status, said = cross("kubernetes", operation, lambda: self._answer(method, path, body, query))
            except (ClientError, BotoCoreError) as error:
                raise ProtocolError(str(error)) from error
            text = said if isinstance(said, str) else json.dumps(said)
            if status >= 400:
                failed = ApiException(status=status, reason=text)
                failed.body, failed.headers = text, {}
                raise failed
            return SimpleNamespace(status=status, headers={}, data=text.encode())

        return SimpleNamespace(request=request)

    def nodes(self, nodegroup: str | None = None) -> list[Machine]:
        """The machines that are nodes at present."""
        return [
            machine
            for machine in self._machines.machines.values()
            if self._joined(machine) and nodegroup in {None, self.nodegroup_of[machine.group]}
        ]

    def _joined(self, machine: Machine) -> bool:
        now = self._agenda.now
        if machine.running is None or now < machine.running + timedelta(seconds=machine.joins_after):
            return False
        joined = machine.running + timedelta(seconds=machine.joins_after)
        if machine.shutting_down is not None and machine.shutting_down < joined:
            return False
        return machine.ended is None or now < machine.ended + timedelta(seconds=machine.leaves_after)

    def work_on(self, machine: Machine) -> None:
        """Somebody's pod runs on the machine from now on, and does not end by itself."""
        machine.working = True
        manifest = {
            "metadata": {"name": f"notebook-{machine.id}", "namespace": "class"},
            "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
        }
        self._add(Pod(manifest, machine, self._agenda.now))

    def _changed(self, machine: Machine) -> None:
        if machine.ended is not None:
            for pod in self._on(machine):
                del self.pods[pod.namespace, pod.name]

    def _on(self, machine: Machine) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.machine is machine and not self._is_gone(pod)]

    def _is_gone(self, pod: Pod) -> bool:
        return pod.gone is not None and self._agenda.now >= pod.gone

    def _add(self, pod: Pod) -> None:
        self.pods[pod.namespace, pod.name] = pod

    def _answer(self, method: str, path: str, body: Any, query: Mapping[str, str]) -> tuple[int, Any]:
        parts = path.strip("/").split("/")
        match (method, parts):
            case ("GET", ["api", "v1", "nodes"]):
                wanted = query["labelSelector"].rpartition("=")[2]
                return 200, {"items": [self._node(machine) for machine in self.nodes(wanted)]}
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
                pod.gone = self._agenda.now + timedelta(seconds=float(body["gracePeriodSeconds"]))
                return 200, {}
            case ("GET", ["apis", "nvidia.com", "v1", "clusterpolicies", "cluster-policy"]):
                return 200, {"spec": self.policy}
        raise NotInTheWorld(f"the world's Kubernetes has no {method} {path} yet: add it to tests/world")

    def _selected(self, query: Mapping[str, str]) -> list[Pod]:
        found = [pod for pod in self.pods.values() if not self._is_gone(pod)]
        if "fieldSelector" in query:
            node = query["fieldSelector"].removeprefix("spec.nodeName=")
            return [pod for pod in found if pod.machine.node == node]
        key, _, value = query["labelSelector"].partition("=")
        if (key, value) == ("app", "nvidia-operator-validator"):
            return [self._validator(machine) for machine in self.nodes() if self._gpus(machine)]
        return [pod for pod in found if (pod.manifest["metadata"].get("labels") or {}).get(key) == value]

    def _gpus(self, machine: Machine) -> bool:
        ready = timedelta(seconds=machine.joins_after + machine.gpus_after)
        return machine.running is not None and self._agenda.now >= machine.running + ready

    def _node(self, machine: Machine) -> Json:
        gpus = {"nvidia.com/gpu": "1"} if self._gpus(machine) else {}
        labels = {
            "node.kubernetes.io/instance-type": "g4dn.xlarge",
            "topology.kubernetes.io/zone": ZONE,
            "eks.amazonaws.com/nodegroup": self.nodegroup_of[machine.group],
        }
        if gpus:
            labels |= {"nvidia.com/gpu.count": "1", "nvidia.com/cuda.driver-version.full": "580.159.03"}
        spec: Json = {"providerID": f"aws:///{ZONE}/{machine.id}"}
        if machine.cordoned:
            spec["unschedulable"] = True
        joined = (machine.running or machine.launched) + timedelta(seconds=machine.joins_after)
        return {
            "metadata": {
                "name": machine.node,
                "creationTimestamp": _written(joined),
                "labels": labels,
                "annotations": dict(machine.annotations),
            },
            "spec": spec,
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "capacity": gpus,
                "allocatable": gpus,
            },
        }

    def _patch(self, name: str, body: Json) -> tuple[int, Json]:
        machine = next((each for each in self.nodes() if each.node == name), None)
        if machine is None:
            return 404, {"message": "no such node"}
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

    def _create(self, space: str, manifest: Json) -> tuple[int, Json]:
        name = manifest["metadata"]["name"]
        known = self.pods.get((space, name))
        if known is not None and not self._is_gone(known):
            return 409, {"message": "already exists"}
        terms = manifest["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        node = terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
        machine = next((each for each in self.nodes() if each.node == node), None)
        if machine is None:
            raise NotInTheWorld("the world schedules no pod on a node that is not there")
        now = self._agenda.now
        pod = Pod(manifest, machine, now, ends=now + timedelta(seconds=self._chance.uniform(*CHECK_RUNS)))
        check = manifest["metadata"]["labels"]["lamplighter/check"]
        pod.printed = smi(smi_row(name="Tesla T4")) if check == "nvidia-smi" else VECTOR_ADD
        if self.health.broken:
            pod.exit_code, pod.printed = 1, "Failed to initialize NVML: Driver/library version mismatch\n"
        elif self.health.garbled:
            pod.printed = "\x00 half a line, and th"
        else:
            self.health.told.add((check, node))
        self._add(pod)
        return 201, {}

    def _evict(self, space: str, name: str) -> tuple[int, Json]:
        pod = self.pods.get((space, name))
        if pod is None or self._is_gone(pod):
            return 404, {"message": "no such pod"}
        if self.health.stubborn:
            return 429, {"message": "Cannot evict pod as it would violate the pod's disruption budget."}
        self.evicted.append((self._agenda.now, pod.machine))
        if pod.deleted is None:
            pod.deleted = self._agenda.now
            pod.gone = pod.deleted + timedelta(seconds=self._chance.uniform(*LEAVES_IN))
        return 201, {}

    def _pod(self, pod: Pod) -> Json:
        metadata = {**pod.manifest["metadata"], "creationTimestamp": _written(pod.created)}
        if pod.deleted is not None:
            metadata["deletionTimestamp"] = _written(pod.deleted)
        done = pod.ends is not None and self._agenda.now >= pod.ends
        phase = "Running" if not done else "Succeeded" if pod.exit_code == 0 else "Failed"
        state = {"terminated": {"exitCode": pod.exit_code}} if done else {"running": {}}
        return {
            "metadata": metadata,
            "spec": {**pod.manifest["spec"], "nodeName": pod.machine.node},
            "status": {
                "phase": phase,
                "conditions": [{"type": "Ready", "status": "False" if done else "True"}],
                "containerStatuses": [{"state": state}],
            },
        }


def _kind(path: str) -> str:
    parts = path.strip("/").split("/")
    return parts[-1] if parts[-1] in {"eviction", "log", "nodes", "pods"} else parts[-2]


def _written(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
