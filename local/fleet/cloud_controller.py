"""What AWS's cloud controller does with a node by the state of its instance, and what follows in Kubernetes.

It deletes the node of a terminated instance, and taints that of a stopped one (cloud-provider-aws, instances_v2; the
cloud node lifecycle controller of Kubernetes). A finalizer, as Karpenter's, makes the deletion a mark only.
"""

from collections.abc import Iterator

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.kubelet import SHUTDOWN, Kubelet
from local.fleet.world import path
from local.kubernetes.api import Object

UNREACHABLE = "node.kubernetes.io/unreachable"


def instance_gone(kubelet: Kubelet) -> Iterator[Pause]:
    """The instance is terminated. Its pods follow the node, or are given up while a finalizer holds the node."""
    world, name = kubelet.world, kubelet.name
    yield kubelet.delay(timings.CLOUD_CONTROLLER, "remove")
    world.api.delete(f"/api/v1/nodes/{name}")
    given_up = world.coroutines.tell(_evict(kubelet))
    yield Until(lambda: world.nodes.find("", name) is None)
    given_up.stop()
    yield kubelet.delay(timings.COLLECT_ORPHANS, "collect")
    # The real garbage collector would delete it as well, but it counts real seconds.
    for pod in world.pods_on(name):
        uid = {"uid": pod["metadata"]["uid"]}
        world.api.delete(path(pod), {"gracePeriodSeconds": 0, "preconditions": uid})


def instance_off(kubelet: Kubelet) -> Iterator[Pause]:
    """The instance is stopped. The node stays; its kubelet removes the taint when the instance runs again."""
    yield kubelet.delay(timings.CLOUD_CONTROLLER, "taint")
    kubelet.retaint(lambda taint: taint["key"] != SHUTDOWN["key"], SHUTDOWN)
    yield from _evict(kubelet)


def _evict(kubelet: Kubelet) -> Iterator[Pause]:
    """The taint eviction of Kubernetes where the node stays unreachable. Nobody ends the pods: the kubelet is dead."""
    yield timings.GIVE_UP_PODS
    if _is_ready(kubelet):
        return
    for pod in kubelet.world.pods_on(kubelet.name):
        if "deletionTimestamp" not in pod["metadata"] and not _stays(pod):
            kubelet.world.api.delete(path(pod))


def _is_ready(kubelet: Kubelet) -> bool:
    node = kubelet.world.nodes.find("", kubelet.name) or {}
    conditions = node.get("status", {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _stays(pod: Object) -> bool:
    """Whether the pod tolerates an unreachable node for ever, as the pods of a DaemonSet do."""
    return any(
        toleration.get("key") in (None, UNREACHABLE)
        and toleration.get("effect") in (None, "NoExecute")
        and toleration.get("tolerationSeconds") is None
        for toleration in pod["spec"].get("tolerations", [])
    )
