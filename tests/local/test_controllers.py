"""What Kubernetes' controllers owe to a state of the cluster: time does not move before it is there."""

from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from local.fleet import jobs
from local.fleet.controllers import owed, unfinished
from local.fleet.world import Objects, World
from local.kubernetes.pending_changes import Written
from local.kubernetes.placement import has_room, quantity, selects, tolerates

KINDS = (
    "pods",
    "nodes",
    "daemonsets",
    "revisions",
    "policies",
    "replicasets",
    "deployments",
    "jobs",
    "budgets",
)
DONE = {
    "succeeded": 1,
    "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-12-01T10:00:00Z"}],
}
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}


class Cluster:
    """What the watches have shown, put together by a test."""

    def __init__(self) -> None:
        seen: dict[str, Any] = {kind: Objects() for kind in KINDS}
        self.now = instant("2026-12-01T10:00:00Z")
        coroutines = SimpleNamespace(time=lambda: self.now)
        self.world = cast("World", SimpleNamespace(**seen, pods_on=self._pods_on, coroutines=coroutines))

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
        conditions = [*looked, {"type": "Ready", "status": str(ready)}]
        status = {"phase": "Running", "conditions": conditions}
        self.add("pods", name, **{"spec": {**spec, **more.pop("spec", {})}, "status": status, **more})

    def daemonset(self, name: str, *, nodes: int, ready: int, tolerations: tuple[Any, ...] = ()) -> None:
        spec = {"template": {"spec": {"tolerations": list(tolerations)}}, "updateStrategy": {}}
        status = {"observedGeneration": 1, "desiredNumberScheduled": nodes, "numberReady": ready}
        self.add("daemonsets", name, spec=spec, status=status)

    def _pods_on(self, node: str) -> list[Any]:
        return [pod for pod in self.world.pods.all() if pod["spec"].get("nodeName") == node]


def instant(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()


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
    one = {"completions": 1, "parallelism": 1, "backoffLimit": 0}
    cluster.add("jobs", "train", spec=one, status={"active": 1})
    assert owed(cluster.world) == []
    cluster.add("jobs", "train", spec=one, status={"succeeded": 1})
    assert "its end" in " / ".join(owed(cluster.world))
    cluster.add("jobs", "train", spec=one, status=DONE)
    assert owed(cluster.world) == []


def failed(cluster: Cluster, name: str) -> None:
    ended = {"terminated": {"exitCode": 1, "finishedAt": "2026-12-01T10:00:00Z"}}
    status = {"phase": "Failed", "containerStatuses": [{"state": ended}]}
    cluster.add("pods", name, owner="Job/train", spec={"nodeName": "plain", "containers": []}, status=status)


def test_after_a_failure_a_job_gets_its_next_pod_when_kubernetes_gives_one(cluster: Cluster) -> None:
    cluster.node("plain")
    failed(cluster, "train-1")
    failed(cluster, "train-2")
    cluster.add("jobs", "train", spec={"completions": 1, "parallelism": 1}, status={"failed": 2})
    [job] = cluster.world.jobs.all()
    pods = cluster.world.pods.all()
    cluster.now += 19
    assert owed(cluster.world) == []
    assert jobs.instants(job, pods) == [instant("2026-12-01T10:00:20Z")]
    cluster.now += 1
    assert "its pods" in " / ".join(owed(cluster.world))


def test_a_job_that_failed_ends_once_its_pods_are_gone(cluster: Cluster) -> None:
    cluster.node("plain")
    failed(cluster, "rank-0")
    cluster.pod("rank-1", "plain", owner="Job/train", leaving=True)
    spec = {"completions": 2, "parallelism": 2, "backoffLimit": 0}
    cluster.add("jobs", "train", spec=spec, status={"failed": 1})
    assert owed(cluster.world) == []
    cluster.world.pods.note("DELETED", cluster.world.pods.find("n", "rank-1") or {})
    assert "its end" in " / ".join(owed(cluster.world))


def test_a_job_without_a_count_ends_with_its_last_pod(cluster: Cluster) -> None:
    cluster.node("plain")
    cluster.pod("work-2", "plain", owner="Job/train")
    cluster.add("jobs", "train", spec={"parallelism": 2}, status={"succeeded": 1, "active": 1})
    assert owed(cluster.world) == []
    cluster.world.pods.note("DELETED", cluster.world.pods.find("n", "work-2") or {})
    assert "its end" in " / ".join(owed(cluster.world))


def test_a_job_is_ended_at_its_deadline_and_deleted_when_it_was_kept_long_enough(cluster: Cluster) -> None:
    cluster.node("plain")
    cluster.pod("train-1", "plain", owner="Job/train")
    spec = {
        "completions": 1,
        "parallelism": 1,
        "activeDeadlineSeconds": 600,
        "ttlSecondsAfterFinished": 3600,
    }
    begun = {"startTime": "2026-12-01T10:00:00Z", "active": 1}
    cluster.add("jobs", "train", spec=spec, status=begun)
    assert jobs.instants(cluster.world.jobs.all()[0], []) == [instant("2026-12-01T10:10:00Z")]
    cluster.now += 600
    assert "its end" in " / ".join(owed(cluster.world))
    cluster.world.pods.note("DELETED", cluster.world.pods.find("n", "train-1") or {})
    cluster.add("jobs", "train", spec=spec, status={**begun, **DONE, "active": 0})
    assert owed(cluster.world) == []
    assert jobs.instants(cluster.world.jobs.all()[0], []) == [instant("2026-12-01T11:00:00Z")]
    cluster.now += 3000
    assert "its deletion" in " / ".join(owed(cluster.world))


@pytest.mark.once_flaky("time moved before Kubernetes had deleted what a Job owns")
def test_what_is_deleted_in_the_foreground_goes_after_what_it_owns(cluster: Cluster) -> None:
    leaving = {"finalizers": ["foregroundDeletion"]}
    cluster.node("plain")
    cluster.pod("train-1", "plain", owner="Job/train")
    cluster.add("jobs", "train", leaving=True, metadata=leaving, spec={"completions": 1}, status=DONE)
    assert "the end of what" in " / ".join(owed(cluster.world))
    cluster.pod("train-1", "plain", owner="Job/train", leaving=True)
    assert owed(cluster.world) == []  # the kubelet, which is ours, still stops it
    cluster.world.pods.note("DELETED", cluster.world.pods.find("n", "train-1") or {})
    assert "owns nothing any more" in " / ".join(owed(cluster.world))


def test_a_budget_counts_what_its_whole_selector_is_for(cluster: Cluster) -> None:
    cluster.node("plain")
    cluster.pod("notebook", "plain", metadata={"labels": {"app": "notebook"}})
    either = {"key": "app", "operator": "In", "values": ["notebook", "lab"]}
    spec = {"selector": {"matchExpressions": [either]}}
    cluster.add("budgets", "kept", spec=spec, status={"observedGeneration": 1, "currentHealthy": 0})
    assert "its counts" in " / ".join(owed(cluster.world))
    cluster.add("budgets", "kept", spec=spec, status={"observedGeneration": 1, "currentHealthy": 1})
    assert owed(cluster.world) == []
    unknown = {"conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}]}
    cluster.add("budgets", "kept", spec=spec, status=unknown)
    assert owed(cluster.world) == []


def test_a_notebook_that_waits_for_a_window_is_nothing_that_a_chart_waits_for(cluster: Cluster) -> None:
    cluster.pod("notebook", gpus=1, ready=False)
    assert not unfinished(cluster.world)
    cluster.pod("operator", owner="ReplicaSet/operator", ready=False)
    assert unfinished(cluster.world)


def test_a_hook_of_a_chart_is_awaited_until_its_job_is_over(cluster: Cluster) -> None:
    cluster.add("jobs", "training")
    assert not unfinished(cluster.world)
    hook = {"annotations": {"helm.sh/hook": "post-delete"}}
    cluster.add("jobs", "prune", metadata=hook)
    assert unfinished(cluster.world)
    cluster.add("jobs", "prune", metadata=hook, status=DONE)
    assert not unfinished(cluster.world)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100m", "0.1"),
        ("2", "2"),
        ("1.5Gi", str(1.5 * 2**30)),
        ("3099811Ki", str(3099811 * 1024)),
        ("1k", "1000"),
        ("129e6", "129e6"),
        ("500u", "0.0005"),
        ("1E", "1e18"),
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
