"""What Kubernetes knows about a pool, as its API prints it, page by page; only objects that can explain a problem.

Owns which objects are kept: the pool's nodes, the pods on them and those that request its GPUs, NVIDIA's own
software, and the events about these. The domain decides what they mean.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lamplighter.adapters.border import border
from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.adapters.kubernetes.connection import NOT_FOUND, Connection, KubernetesResponse
from lamplighter.domain.capacity.node_pool.access import DEFINITIONS
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, KARPENTER
from lamplighter.domain.capacity.node_pool.launch_bar import NAMESPACE
from lamplighter.domain.diagnosis.rules.pod import Pod, is_karpenter, is_operand, is_operator
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import Said, reason

Json = dict[str, Any]

PAGE = 500
# Ten thousand objects of a kind: more than a cluster with 200 nodes and 3,000 pods has.
PAGES = 20
OPERATOR_NAMESPACE = "gpu-operator"

CLUSTER_POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
NODE_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
NODE_CLASSES = {
    KARPENTER.code: "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    AUTO_MODE.code: "/apis/eks.amazonaws.com/v1/nodeclasses",
}
KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@border
class ClusterReads:
    """Reads the API of one cluster. After a request without any answer it asks no more."""

    def __init__(self, connection: Connection, reading: Reading, selector: str) -> None:
        self._connection = connection
        self._reading = reading
        self._selector = selector
        self._silent: Said = ""
        self.objects: Json = {}

    def read(self) -> Json:
        """The snapshot's `kubernetes` part."""
        self._keep("nodes", lambda: self._list("/api/v1/nodes", labelSelector=self._selector))
        mine = {_name(node) for node in self.objects.get("nodes", ())} if "nodes" in self.objects else None
        self._keep("pods", lambda: self._list("/api/v1/pods", lambda item: _wanted(Pod(item), mine)))
        self._keep("daemonsets", lambda: self._list("/apis/apps/v1/daemonsets", _is_software))
        self._keep("deployments", lambda: self._list("/apis/apps/v1/deployments", _is_software))
        self._keep("jobs", lambda: self._list("/apis/batch/v1/jobs", self._has_pods))
        self._keep("clusterpolicies", lambda: self._list(CLUSTER_POLICIES))
        self._keep("runtimeclasses", lambda: self._list(RUNTIME_CLASSES))
        pods = {(_space(pod), _name(pod)) for pod in self.objects["pods"]} if "pods" in self.objects else None
        spaces = {space for space, _ in pods} if pods is not None else None
        self._keep("poddisruptionbudgets", lambda: self._list(BUDGETS, lambda item: _is_in(item, spaces)))
        self._keep("events", lambda: self._list("/api/v1/events", lambda item: _tells(item, mine, pods)))
        if "clusterpolicies" in self.objects:
            self._keep("configmaps", self._settings)
        return self.objects

    def read_node_pool(self, node_classes: str, launch_bar: str) -> Json:
        """The same, completed by what there is of a NodePool and its claims."""
        self._keep("nodeclaims", lambda: self._list(NODE_CLAIMS))
        self._keep("nodepools", lambda: self._list(NODE_POOLS))
        self._keep(node_classes.rpartition("/")[2], lambda: self._list(node_classes))
        self._keep("customresourcedefinitions", lambda: list(self._kinds()))
        self._keep("configmaps", lambda: [*self.objects.get("configmaps", ()), *self._bar(launch_bar)])
        return self.objects

    def ask(self, path: str, query: dict[str, str]) -> str | None:
        """The text at `path`; None where the server has none. Raises OutsideFailed."""
        answer = self._ask(path, query)
        return answer.text if answer.ok else None

    def _ask(self, path: str, query: dict[str, str]) -> KubernetesResponse:
        if self._silent:
            raise OutsideFailed(self._silent)
        try:
            return self._connection.ask("GET", path, query=query)
        except OutsideFailed as error:
            # With a cause the network failed, not one request that was refused.
            if error.__cause__ is not None:
                self._silent = error.said
            raise

    def _keep(self, key: str, call: Callable[[], list[Json]]) -> None:
        items = self._reading.read(f"kubernetes.{key}", call)
        if items is not None:
            self.objects[key] = items

    def _list(self, path: str, wanted: Callable[[Json], bool] = lambda _: True, **query: str) -> list[Json]:
        items: list[Json] = []
        for page in self._pages(path, query):
            items += [_without_bulk(item) for item in page if isinstance(item, dict) and wanted(item)]
        return items

    def _pages(self, path: str, query: dict[str, str]) -> Iterator[list[Json]]:
        more: dict[str, str] = {}
        for _ in range(PAGES):
            page = self._page(path, {"limit": str(PAGE), **query, **more})
            yield page.get("items") or []
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return
            if self._reading.over:
                break
            more = {"continue": token}
        kind = path.rpartition("/")[2]
        self._reading.leave(f"kubernetes.{kind} (the rest)", reason("finding.unread.more", kind=kind))

    def _page(self, path: str, query: dict[str, str]) -> Json:
        answer = self._ask(path, query)
        if answer.status == NOT_FOUND:
            raise OutsideFailed(reason("finding.unread.no-such-kind", path=path))
        return _parsed(self._connection.expect(answer, "GET", path).text)

    def _kinds(self) -> Iterator[Json]:
        """The kinds of Karpenter's objects that the cluster knows. Each definition is large; its name is enough."""
        for name in DEFINITIONS:
            path = f"{KINDS}/{name}"
            answer = self._ask(path, {})
            if answer.status != NOT_FOUND:
                self._connection.expect(answer, "GET", path)
                yield {"metadata": {"name": name}}

    def _bar(self, name: str) -> list[Json]:
        """The ConfigMap with the end of the launch bar, and no other of our namespace."""
        text = self.ask(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}", {}) if name else None
        return [_without_bulk(_parsed(text))] if text else []

    def _has_pods(self, job: Json) -> bool:
        """Whether a pod in scope belongs to the job, or its own pods would request a GPU."""
        spec = ((job.get("spec") or {}).get("template") or {}).get("spec") or {}
        if Pod({"metadata": {}, "spec": spec}).gpus:
            return True
        called = f"Job/{_name(job)}"
        space = _space(job)
        return any(
            pod.owner == called and pod.namespace == space for pod in map(Pod, self.objects.get("pods", ()))
        )

    def _settings(self) -> list[Json]:
        """The ConfigMaps with sharing and MIG settings that the ClusterPolicy names, and no other."""
        named: set[str] = set()
        for policy in self.objects.get("clusterpolicies", ()):
            spec = policy.get("spec") or {}
            for part in ("devicePlugin", "migManager"):
                name = ((spec.get(part) or {}).get("config") or {}).get("name")
                named |= {str(name)} if name else set()
        space = self._operator_namespace()
        settings: list[Json] = []
        for name in sorted(named):
            text = self.ask(f"/api/v1/namespaces/{space}/configmaps/{name}", {})
            settings += [_without_bulk(_parsed(text))] if text else []
        return settings

    def _operator_namespace(self) -> str:
        software: Sequence[Json] = [*self.objects.get("deployments", ()), *self.objects.get("daemonsets", ())]
        return next(
            (_space(item) for item in software if _name(item).startswith("gpu-operator")), OPERATOR_NAMESPACE
        )


def _wanted(pod: Pod, mine: set[str] | None) -> bool:
    """Whether the pod is on the pool's nodes, waits for one of its GPUs, or is a controller: operator, Karpenter."""
    controls = is_operator(pod.name) or is_karpenter(pod.name)
    if mine is None:
        return bool(pod.gpus) or pod.operand or controls
    return pod.node in mine or (not pod.node and bool(pod.gpus or pod.operand)) or controls


def _tells(event: Json, nodes: set[str] | None, pods: set[tuple[str, str]] | None) -> bool:
    """Whether an event is about a kept object. All events of a kind that was not read are kept."""
    about = event.get("involvedObject") or event.get("regarding") or {}
    kind, name, space = about.get("kind"), str(about.get("name") or ""), str(about.get("namespace") or "")
    if kind == "Pod":
        return pods is None or (space, name) in pods
    if kind == "Node":
        return nodes is None or name in nodes
    if kind in {"DaemonSet", "Deployment", "ReplicaSet"}:
        return is_operand(name) or is_operator(name)
    return kind in {"NodeClaim", "NodePool"}


def _is_in(item: Json, spaces: set[str] | None) -> bool:
    """Whether an object is in the namespace of a kept pod. All are kept if the pods were not read."""
    return spaces is None or _space(item) in spaces


def _is_software(item: Json) -> bool:
    name = _name(item)
    return is_operand(name) or is_operator(name) or is_karpenter(name) or name.startswith("gpu-operator")


def _without_bulk(item: Json) -> Json:
    """The object without large parts that no rule reads."""
    metadata = {key: value for key, value in (item.get("metadata") or {}).items() if key != "managedFields"}
    kept = {**item, "metadata": metadata}
    if "images" in (item.get("status") or {}):
        kept["status"] = {key: value for key, value in item["status"].items() if key != "images"}
    return kept


def _parsed(text: str) -> Json:
    document = json.loads(text)
    return document if isinstance(document, dict) else {}


def _name(item: Json) -> str:
    return str((item.get("metadata") or {}).get("name") or "")


def _space(item: Json) -> str:
    return str((item.get("metadata") or {}).get("namespace") or "")
