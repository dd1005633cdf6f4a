"""A lab whose pool is a NodePool of Karpenter, on moto and a small API server in memory; nobody plays Karpenter.

So whatever is told to end stays as a dead controller leaves it: a deleted claim waits for its finalizer.
"""

import json
import re
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import boto3
from moto.ec2.models import ec2_backends

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.capacity.node_pool.capacity import NodePoolCapacity
from lamplighter.adapters.kubernetes.connection import KubernetesResponse
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.guard.services import GuardServices
from lamplighter.domain.capacity.node_pool.access import DEFINITIONS
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.values.instant import written
from tests.unit.lab_on_moto import IMAGE, LEDGER, LabOnMoto
from tests.world.kubernetes.go_time import timestamp

API, CORE = "/apis/karpenter.sh/v1", "/api/v1"
NODE_POOL = f"{API}/nodepools/lab-gpu"
CLAIMS, NODES, PODS = f"{API}/nodeclaims", f"{CORE}/nodes", f"{CORE}/pods"
DEPLOYMENTS = "/apis/apps/v1/deployments"
KARPENTERS = "/apis/apps/v1/namespaces/kube-system/deployments/karpenter"
KARPENTERS_PODS = f"{CORE}/namespaces/kube-system/pods"
BAR = f"{CORE}/namespaces/lamplighter/configmaps/lab-gpu"
REFUSED = (
    "ValidatingAdmissionPolicy 'lab-launch-bar' with binding 'lab-gpu' denied request: lamplighter: no lease"
)
QUEUE = "lab-karpenter"


def lab_of(**keys: Any) -> Lab:
    return Lab.model_validate(
        {"name": "lab", "cluster": {"karpenter": {}}, "pools": {"gpu": {"kind": "karpenter", **keys}}}
    )


class ApiServer:
    """Objects by their path. A claim that is deleted stays, with the time of its deletion."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {
            NODE_POOL: _node_pool(),
            KARPENTERS: deployment(),
            BAR: {"metadata": {"name": "lab-gpu"}},
        }
        self.absent_kinds: set[str] = set()
        self.left_out: set[str] = set()
        """Objects that every list lacks."""
        self.silent = False
        self.budgets_hold = False
        """Whether a PodDisruptionBudget keeps every pod from being evicted."""
        self.asked: list[str] = []

    @property
    def server_time(self) -> datetime:
        return clock.now()

    def get(self, path: str, **query: str) -> Any:
        answer = self.ask("GET", path, query=query)
        return json.loads(answer.text) if answer.ok else {}

    def list(self, path: str, **query: str) -> list[Any]:
        return list(self.get(path, **query).get("items", []))

    def ask(
        self, method: str, path: str, *, body: Any = None, query: Any = None, **_more: Any
    ) -> KubernetesResponse:
        if self.silent:
            raise OutsideFailed(f"{method} {path} got no answer")
        self.asked.append(f"{method} {path}")
        special = self._without_an_object(method, path, body, query or {})
        if special is not None:
            return special
        if method == "GET" and path not in self.objects:
            return self._listed(path, query or {})
        if path not in self.objects:
            return _answer(404, {"message": "not found"})
        found = self.objects[path]
        if method == "PATCH":
            _merge(found, body)
        if method == "DELETE":
            found["metadata"].setdefault("deletionTimestamp", written(clock.now()))
        return _answer(200, found)

    def _without_an_object(self, method: str, path: str, body: Any, query: Any) -> KubernetesResponse | None:
        """The answers to definitions, to dry runs and to evictions."""
        if path.startswith("/apis/apiextensions.k8s.io/"):
            return _answer(404 if path.rpartition("/")[2] in self.absent_kinds else 200, {})
        if re.fullmatch(r"/apis/karpenter[^/]+/v1", path):
            group = path.split("/")[2]
            named = [name.partition(".")[0] for name in DEFINITIONS if name.endswith(f".{group}")]
            return _answer(
                404 if self.absent_kinds else 200, {"resources": [{"name": each} for each in named]}
            )
        if self.absent_kinds and path.startswith(API):
            return _answer(404, {"message": "the server could not find the requested resource"})
        if method == "POST" and query.get("dryRun"):
            return self._barred(body)
        if path.endswith("/eviction") and self.budgets_hold:
            return _answer(
                429, {"message": "Cannot evict pod as it would violate the pod's disruption budget."}
            )
        return None

    def expect(self, answer: KubernetesResponse, method: str, path: str) -> KubernetesResponse:
        if not answer.ok:
            raise OutsideFailed(f"{method} {path}: {answer.message}")
        return answer

    def _barred(self, claim: Any) -> KubernetesResponse:
        """What a launch bar that takes whatever CEL reads answers to a claim that is only tried."""
        until = self.objects[BAR].get("data", {}).get("notAfter")
        open_until = timestamp(until or "")
        opens = open_until is not None and clock.now() < open_until
        allowed = opens and "terminationGracePeriod" in claim["spec"]
        return _answer(201, claim) if allowed else _answer(422, {"message": REFUSED})

    def _listed(self, path: str, query: Any) -> KubernetesResponse:
        selected = dict(each.split("=") for each in query.get("labelSelector", "").split(",") if each)
        node = query.get("fieldSelector", "").partition("spec.nodeName=")[2]
        pattern = re.compile(rf"{re.escape(path)}/[^/]+")
        if path == DEPLOYMENTS:
            pattern = re.compile(r"/apis/apps/v1/namespaces/[^/]+/deployments/[^/]+")
        if path == PODS:
            pattern = re.compile(rf"{CORE}/namespaces/[^/]+/pods/[^/]+")
        items = [
            found
            for name, found in self.objects.items()
            if pattern.fullmatch(name)
            and name not in self.left_out
            and selected.items() <= found["metadata"].get("labels", {}).items()
            and (not node or found["spec"].get("nodeName") == node)
        ]
        known = items or path in {CLAIMS, NODES, PODS, DEPLOYMENTS} or path.endswith(("/pods", "/events"))
        return _answer(200 if known else 404, {"items": items})


@dataclass
class NodePoolOnMoto:
    """The lab, and the hands that move the world around it."""

    moto: LabOnMoto
    lab: Lab
    api: ApiServer

    @classmethod
    def on(cls, moto: LabOnMoto, **keys: Any) -> "NodePoolOnMoto":
        """The lab with these keys of its pool, its queue in place."""
        boto3.client("sqs").create_queue(QueueName=QUEUE)
        return cls(moto, lab_of(**keys), ApiServer())

    @property
    def capacity(self) -> CapacityServices:
        port = NodePoolCapacity(self.lab, KARPENTER)
        port.kubernetes = self.api  # type: ignore[assignment]
        return CapacityServices(self.lab, Ledger(LEDGER), {KARPENTER.code: port})

    @property
    def guard_services(self) -> GuardServices:
        made = self.moto.guard_services
        lease_services = replace(made.lease_services, capacity=self.capacity)
        connect: Any = lambda: self.api  # noqa: E731
        return replace(made, lease_services=lease_services, connect=connect)

    def at(self, minutes: float) -> datetime:
        return self.moto.at(minutes)

    def node(self, name: str = "a", *, age: timedelta = timedelta(minutes=30), pods: bool = False) -> str:
        """A claim with its instance and its node; gives the instance."""
        tags: Any = [
            {"Key": key, "Value": value}
            for key, value in {
                "karpenter.sh/nodepool": "lab-gpu",
                "eks:eks-cluster-name": "lab",
                "karpenter.sh/nodeclaim": f"lab-gpu-{name}",
            }.items()
        ]
        made = boto3.client("ec2").run_instances(
            ImageId=IMAGE,
            InstanceType="g5.xlarge",
            MinCount=1,
            MaxCount=1,
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        )
        instance = str(made["Instances"][0]["InstanceId"])
        # moto dates it by the machine's clock.
        ec2 = ec2_backends["123456789012"]["ap-northeast-2"]
        ec2.get_instance(instance).launch_time = (clock.now() - age).replace(tzinfo=None)
        labels = {"karpenter.sh/nodepool": "lab-gpu"}
        self.api.objects[f"{CLAIMS}/lab-gpu-{name}"] = {
            "metadata": {
                "name": f"lab-gpu-{name}",
                "labels": labels,
                "creationTimestamp": written(clock.now() - age),
            },
            "spec": {"terminationGracePeriod": "10m"},
            "status": {"providerID": f"aws:///ap-northeast-2a/{instance}"},
        }
        self.api.objects[f"{NODES}/node-{name}"] = {
            "metadata": {
                "name": f"node-{name}",
                "labels": labels,
                "creationTimestamp": written(clock.now() - age),
            },
            "spec": {"providerID": f"aws:///ap-northeast-2a/{instance}"},
        }
        if pods:
            self.api.objects[f"{CORE}/namespaces/class/pods/work-{name}"] = {
                "metadata": {
                    "name": f"work-{name}",
                    "namespace": "class",
                    "creationTimestamp": written(clock.now()),
                },
                "spec": {"nodeName": f"node-{name}", "containers": []},
                "status": {"phase": "Running"},
            }
        return instance

    def size(self, replicas: int) -> None:
        self.api.objects[NODE_POOL]["spec"]["replicas"] = replicas

    def claim(self, name: str = "a") -> dict[str, Any]:
        found: dict[str, Any] = self.api.objects[f"{CLAIMS}/lab-gpu-{name}"]
        return found

    def running(self) -> set[str]:
        """The instances that nobody has ended."""
        pages = boto3.client("ec2").describe_instances()["Reservations"]
        every = [instance for page in pages for instance in page["Instances"]]
        return {one["InstanceId"] for one in every if one["State"]["Name"] in {"pending", "running"}}


def deployment(wanted: int = 2, available: int = 2, **more: Any) -> dict[str, Any]:
    """Karpenter's own, as the chart makes it."""
    container = {
        "image": "public.ecr.aws/karpenter/controller:1.14.3@sha256:00",
        "env": [{"name": "INTERRUPTION_QUEUE", "value": QUEUE}],
    }
    return {
        "metadata": {"namespace": "kube-system", "name": "karpenter"},
        "spec": {
            "replicas": wanted,
            "selector": {"matchLabels": {"app.kubernetes.io/name": "karpenter"}},
            "template": {"spec": {"containers": [container]}},
        },
        "status": {"availableReplicas": available, **more},
    }


def _node_pool() -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "lab-gpu"}
    template = {"nodeClassRef": reference, "requirements": [], "terminationGracePeriod": "10m"}
    return {
        "metadata": {"name": "lab-gpu"},
        "spec": {"replicas": 0, "limits": {"nodes": "2"}, "template": {"spec": template}},
    }


def _merge(into: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        elif value is None:
            into.pop(key, None)
        else:
            into[key] = deepcopy(value)


def _answer(status: int, document: dict[str, Any]) -> KubernetesResponse:
    return KubernetesResponse(status, json.dumps(document))


ALL_KINDS = set(DEFINITIONS)
