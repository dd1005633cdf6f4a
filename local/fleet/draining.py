"""What EKS does with the pods of a node that goes: cordon and evict, and where it may, delete the pods that stayed.

The real API server answers evictions, so PodDisruptionBudgets apply until EKS's time limit.
"""

from local.clock import VirtualClock
from local.fleet.world import TERMINAL, World, key, path
from local.kubernetes.api import ApiError, Object

#: The time limit of a drain.
PATIENCE_SECONDS = 15 * 60.0
_ROUND_SECONDS = 5.0
_NOT_NOW = (404, 409, 429)


def cordon(world: World, node: str, *, closed: bool = True) -> None:
    """Sets whether the node takes new pods."""
    world.api.merge(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": closed}})


def drain(world: World, clock: VirtualClock, node: str) -> None:
    """Empties the node for a scale-in. After the time limit EKS deletes the pods that stayed, budgets or not."""
    cordon(world, node)
    if not evicted(world, clock, node):
        while pods := _to_leave(world, node):
            for pod in pods:
                if "deletionTimestamp" not in pod["metadata"]:
                    world.api.delete(path(pod))
            clock.sleep(_ROUND_SECONDS)


def evicted(world: World, clock: VirtualClock, node: str) -> bool:
    """Evicts until only pods of DaemonSets are left on the node. False if that takes longer than the time limit."""
    deadline = clock.time() + PATIENCE_SECONDS
    while pods := _to_leave(world, node):
        if clock.time() >= deadline:
            return False
        for pod in pods:
            if "deletionTimestamp" not in pod["metadata"]:
                _evict(world, pod)
        clock.sleep(_ROUND_SECONDS)
    return True


def _to_leave(world: World, node: str) -> list[Object]:
    return [pod for pod in world.pods_on(node) if _must_leave(pod)]


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
