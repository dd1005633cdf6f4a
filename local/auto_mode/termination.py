"""The end of a NodeClaim: its node is drained, its instance terminated, and then the objects may go.

As Karpenter does it (kubernetes-sigs/karpenter, pkg/controllers/node/termination): a pod that may not be disrupted or a
budget holds the node until the grace ends, and pods are deleted early enough for their own grace to fit. A claim of a
NodePool has a grace at any rate. One that somebody makes by hand without a grace waits for ever.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from local.auto_mode.cluster import AutoModeCluster
from local.auto_mode.conditions import condition, set_status
from local.auto_mode.definitions import CLAIMS
from local.auto_mode.durations import seconds_of
from local.auto_mode.launch import Launched
from local.fleet.coroutines import Pause, Until
from local.fleet.world import TERMINAL, path
from local.kubernetes.api import ApiError, Object

DISRUPTED = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp"
KEEP = "karpenter.sh/do-not-disrupt"
_ROUND_SECONDS = 5.0
_NOT_NOW = (404, 409, 429)


def ending(cluster: AutoModeCluster, name: str, launched: Launched | None) -> Iterator[Pause]:
    """Ends the instance and the objects of a claim that is being deleted."""
    world, address = cluster.world, f"{CLAIMS}/{name}"
    if launched is not None:
        node = f"/api/v1/nodes/{launched.instance}"
        if cluster.enabled and launched.instance not in cluster.ended and world.api.find(node) is not None:
            yield from _drain(cluster, name, launched)
        if launched.instance not in cluster.ended:
            cluster.launcher.end(launched.instance)
            set_status(world, address, [condition("InstanceTerminating")])
            yield Until(lambda: launched.instance in cluster.ended)
        world.api.delete(node)
        world.api.merge(node, {"metadata": {"finalizers": None}})
    world.api.delete(address)
    world.api.merge(address, {"metadata": {"finalizers": None}})


def _drain(cluster: AutoModeCluster, name: str, launched: Launched) -> Iterator[Pause]:
    world, address = cluster.world, f"{CLAIMS}/{name}"
    node = f"/api/v1/nodes/{launched.instance}"
    world.api.delete(node)
    found = world.api.find(node) or {"spec": {}}
    taints = [one for one in found["spec"].get("taints", []) if one["key"] != DISRUPTED["key"]]
    world.api.merge(node, {"spec": {"taints": [*taints, DISRUPTED]}})
    set_status(world, address, [condition("Drained", "Unknown", "Draining")])
    while True:
        deadline = _deadline(cluster, name)
        yield _ROUND_SECONDS
        if launched.instance in cluster.ended or not cluster.enabled:
            return
        left = [pod for pod in world.pods_on(launched.instance) if _must_leave(pod)]
        if not left or cluster.now() >= deadline:
            break
        _send_away(cluster, launched, left, deadline)
    set_status(world, address, [condition("Drained"), condition("VolumesDetached")])


def _send_away(cluster: AutoModeCluster, launched: Launched, pods: list[Object], deadline: float) -> None:
    """Evicts one group of pods: those of DaemonSets come after the others. Near the deadline it deletes."""
    ordinary = [pod for pod in pods if not _of_daemonset(pod)]
    failed = False
    for pod in ordinary or pods:
        if "deletionTimestamp" in pod["metadata"]:
            continue
        grace = float(pod["spec"].get("terminationGracePeriodSeconds", 30))
        left = deadline - cluster.now()
        if left <= grace:
            cluster.world.api.delete(path(pod), {"gracePeriodSeconds": max(0, int(left))})
        elif (pod["metadata"].get("annotations") or {}).get(KEEP) == "true" or not _evict(cluster, pod):
            failed = True
    if failed:
        node = cluster.world.api.find(f"/api/v1/nodes/{launched.instance}")
        if node is not None:
            node = {"apiVersion": "v1", "kind": "Node", **node}
            said = f"Failed to drain node, {len(pods)} pods are waiting to be evicted"
            cluster.event(node, "FailedDraining", said, warning=True)


def _evict(cluster: AutoModeCluster, pod: Object) -> bool:
    metadata = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    try:
        cluster.world.api.request("POST", f"{path(pod)}/eviction", eviction)
    except ApiError as error:
        if error.status not in _NOT_NOW:
            raise
        return error.status == 404  # noqa: PLR2004 (gone)
    return True


def _deadline(cluster: AutoModeCluster, name: str) -> float:
    """When the grace ends: by the annotation, which is written from the claim's grace where nobody has."""
    claim = cluster.world.api.find(f"{CLAIMS}/{name}") or {"metadata": {}, "spec": {}}
    written = (claim["metadata"].get("annotations") or {}).get(DEADLINE)
    if written:
        return datetime.fromisoformat(written).timestamp()
    grace = claim["spec"].get("terminationGracePeriod")
    if grace is None:
        return float("inf")
    end = cluster.now() + seconds_of(grace, 0.0)
    text = datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    cluster.world.api.merge(f"{CLAIMS}/{name}", {"metadata": {"annotations": {DEADLINE: text}}})
    return end


def _must_leave(pod: Object) -> bool:
    """Whether the drain waits for the pod: it runs, is none of the node's own, and does not tolerate the taint."""
    if pod.get("status", {}).get("phase") in TERMINAL:
        return False
    if any(owner["kind"] == "Node" for owner in pod["metadata"].get("ownerReferences", [])):
        return False
    return not any(
        toleration.get("key") in (None, DISRUPTED["key"])
        and toleration.get("effect") in (None, DISRUPTED["effect"])
        and toleration.get("operator") == "Exists"
        for toleration in pod["spec"].get("tolerations", [])
    )


def _of_daemonset(pod: Object) -> bool:
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", []))
