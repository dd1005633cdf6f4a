"""What Kubernetes' controllers owe to a state of the cluster: time does not move before it is there."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from local.fleet.controllers import owed, unfinished
from local.fleet.world import Objects, World
from local.kubernetes.placement import has_room, quantity, selects, tolerates
from local.kubernetes.written import Written

KINDS = ("pods", "nodes", "daemonsets", "policies", "replicasets", "deployments", "jobs", "budgets")
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}


class Cluster:
    """What the watches have shown, put together by a test."""

    def __init__(self) -> None:
        seen: dict[str, Any] = {kind: Objects() for kind in KINDS}
        self.world = cast("World", SimpleNamespace(**seen, pods_on=self._pods_on))

    def add(self, kind: str, name: str, *, owner: str = "", leaving: bool = False, **more: Any) -> None:
        metadata: dict[str, Any] = {"name": name, "namespace": "n", "uid": name, "generation": 1}
        metadata |= {"creationTimestamp": "2026-12-01T10:00:00Z", **more.pop("metadata", {})}
        if owner:
            of, _, uid = owner.partition("/")
            metadata["ownerReferences"] = [{"kind": of, "uid": uid, "controller": True}]
        if leaving:
            metadata["deletionTimestamp"] = "2026-12-01T10:00:00Z"
        getattr(self.world, kind).note("ADDED", {"metadata": metadata, "spec": {}, "status": {}, **more})

    def node(self, name: str, *taints: dict[str, str], ready: str = "True", gpus: int = 0) -> None:
        allocatable = {"cpu": "4", "memory": "16Gi", "pods": "50", "nvidia.com/gpu": str(gpus)}
        status = {"conditions": [{"type": "Ready", "status": ready}], "allocatable": allocatable}
        self.add("nodes", name, spec={"taints": list(taints)}, status=status)

    def pod(self, name: str, node: str = "", *, ready: bool = True, gpus: int = 0, **more: Any) -> None:
        limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
        spec = {"containers": [{"resources": {"limits": limits}}], **({"nodeName": node} if node else {})}
        looked = [{"type": "PodScheduled", "status": str(bool(node))}] if more.pop("looked", True) else []
        status = {"phase": "Running", "conditions": looked, "containerStatuses": [{"ready": ready}]}
        self.add("pods", name, **{"spec": {**spec, **more.pop("spec", {})}, "status": status, **more})

    def daemonset(self, name: str, *, nodes: int, ready: int, tolerations: tuple[Any, ...] = ()) -> None:
        spec = {"template": {"spec": {"tolerations": list(tolerations)}}, "updateStrategy": {}}
        status = {"observedGeneration": 1, "desiredNumberScheduled": nodes, "numberReady": ready}
        self.add("daemonsets", name, spec=spec, status=status)

    def _pods_on(self, node: str) -> list[Any]:
        return [pod for pod in self.world.pods.all() if pod["spec"].get("nodeName") == node]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_an_empty_cluster_owes_nothing(cluster: Cluster) -> None:
    assert owed(cluster.world) == []
    assert not unfinished(cluster.world)


def test_a_new_pod_is_looked_at_by_the_scheduler_and_placed_where_it_fits(cluster: Cluster) -> None:
    cluster.pod("new", looked=False)
    assert "a node for pod" in " / ".join(owed(cluster.world))
    cluster.pod("new", gpus=1)
    assert owed(cluster.world) == []  # looked at, and there is no node
    cluster.node("gpu", gpus=1)
    assert "a node for pod" in " / ".join(owed(cluster.world))
    cluster.pod("other", "gpu", gpus=1)
    assert owed(cluster.world) == []  # which another has taken


def test_a_daemonset_has_a_pod_on_each_node_that_it_bears_and_counts_them(cluster: Cluster) -> None:
    cluster.node("plain")
    cluster.node("gpu", GPU_TAINT)
    cluster.daemonset("agent", nodes=0, ready=0)
    assert "a pod on plain" in " / ".join(owed(cluster.world))
    cluster.pod("agent-1", "plain", owner="DaemonSet/agent")
    assert "its count of nodes" in " / ".join(owed(cluster.world))
    cluster.daemonset("agent", nodes=1, ready=0)
    assert "its count of ready pods" in " / ".join(owed(cluster.world))
    cluster.daemonset("agent", nodes=1, ready=1)
    assert owed(cluster.world) == []
    cluster.daemonset("agent", nodes=1, ready=1, tolerations=({"operator": "Exists"},))
    assert "a pod on gpu" in " / ".join(owed(cluster.world))


def test_a_pod_whose_owner_is_gone_is_ended(cluster: Cluster) -> None:
    cluster.node("plain")
    cluster.pod("agent-1", "plain", owner="DaemonSet/agent")
    assert "whose owner is gone" in " / ".join(owed(cluster.world))
    cluster.pod("agent-1", "plain", owner="DaemonSet/agent", leaving=True)
    assert owed(cluster.world) == []
    assert unfinished(cluster.world)  # the kubelet, which is ours, still stops it


def test_a_node_is_tainted_as_its_condition_says(cluster: Cluster) -> None:
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    cluster.node("plain", ready="False")
    assert "the taints of node plain" in " / ".join(owed(cluster.world))
    cluster.node("plain", not_ready, ready="False")
    assert owed(cluster.world) == []
    cluster.node("plain", not_ready)
    assert "the taints of node plain" in " / ".join(owed(cluster.world))


def test_a_job_has_its_pods_counts_those_that_ended_and_ends(cluster: Cluster) -> None:
    cluster.node("plain")
    cluster.add("jobs", "train", spec={"completions": 1, "parallelism": 1, "backoffLimit": 0})
    assert "its pods" in " / ".join(owed(cluster.world))
    cluster.pod("train-1", "plain", owner="Job/train")
    cluster.add("jobs", "train", spec={"backoffLimit": 0}, status={"active": 1})
    assert owed(cluster.world) == []
    cluster.add("jobs", "train", spec={"backoffLimit": 0}, status={"succeeded": 1})
    assert "its end" in " / ".join(owed(cluster.world))
    done = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
    cluster.add("jobs", "train", spec={"backoffLimit": 0}, status=done)
    assert owed(cluster.world) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100m", "0.1"),
        ("2", "2"),
        ("1.5Gi", str(1.5 * 2**30)),
        ("3099811Ki", str(3099811 * 1024)),
        ("1k", "1000"),
    ],
)
def test_quantities_are_read_as_kubernetes_writes_them(text: str, value: str) -> None:
    assert float(quantity(text)) == float(value)


def test_selectors_taints_and_room_decide_where_a_pod_may_go() -> None:
    node = {
        "metadata": {"name": "a", "labels": {"tier": "gpu"}},
        "spec": {"taints": [GPU_TAINT]},
        "status": {"allocatable": {"cpu": "2", "pods": "2"}},
    }
    expression = {"key": "tier", "operator": "In", "values": ["gpu", "cpu"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    assert selects({"affinity": affinity}, node)
    assert not selects({"nodeSelector": {"tier": "cpu"}}, node)
    assert not tolerates({}, node, ["NoSchedule"])
    assert tolerates({}, node, ["NoExecute"])
    assert tolerates({"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}, node, ["NoSchedule"])
    pod = {"spec": {"containers": [{"resources": {"requests": {"cpu": "1500m"}}}]}}
    assert has_room(pod, node, [])
    assert not has_room(pod, node, [pod])


def test_what_was_written_is_awaited_until_the_watch_has_shown_it() -> None:
    pods = Objects()
    written = Written({"Pod": pods})
    pod = {"kind": "Pod", "metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "7"}}
    assert not written.unseen()
    written.note("/api/v1/namespaces/n/pods", pod)
    assert written.unseen() == ["change 7 of a Pod"]
    pods.note("ADDED", pod)
    pods.reached("7")
    assert not written.unseen()
    written.note("/api/v1/namespaces/n/pods/a/eviction", {"kind": "Status", "metadata": {}})
    assert written.unseen() == ["the eviction of n/a"]
    pods.note("MODIFIED", {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}})  # type: ignore[dict-item]
    assert not written.unseen()
    written.note("/api/v1/namespaces/n/pods/a", {"kind": "Status", "details": {"kind": "pods", "uid": "1"}})
    assert written.unseen() == ["the deletion of 1"]
    pods.note("DELETED", pod)
    assert not written.unseen()
