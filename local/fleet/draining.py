"""What EKS does with a node that a scale-in removes: cordon, evict, and in the end delete the pods that stayed.

The real API server answers evictions, so PodDisruptionBudgets apply until EKS's time limit.
"""

from local.clock import VirtualClock
from local.fleet.world import TERMINAL, World, key, path
from local.kubernetes.api import ApiError, Object

#: The time limit of a drain. After it EKS continues, whatever a budget says.
PATIENCE_SECONDS = 15 * 60.0
_ROUND_SECONDS = 5.0
_NOT_NOW = (404, 409, 429)


def drain(world: World, clock: VirtualClock, node: str) -> None:
    """Returns when only pods of DaemonSets are left on the node."""
    world.api.merge(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
    impatient = clock.time() + PATIENCE_SECONDS
    while pods := [pod for pod in world.pods_on(node) if _must_leave(pod)]:
        for pod in pods:
            if "deletionTimestamp" in pod["metadata"]:
                continue
            if clock.time() < impatient:
                _evict(world, pod)
            else:
                world.api.delete(path(pod))
        clock.sleep(_ROUND_SECONDS)


def _must_leave(pod: Object) -> bool:
    if pod.get("status", {}).get("phase") in TERMINAL:
        return False
    return not any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", []))


def _evict(world: World, pod: Object) -> None:
    namespace, name = key(pod)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction"}
    metadata = {"metadata": {"name": name, "namespace": namespace}}
    try:
        world.api.request("POST", path(pod) + "/eviction", {**eviction, **metadata})
    except ApiError as error:
        if error.status not in _NOT_NOW:
            raise
