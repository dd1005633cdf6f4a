"""What a device plugin offers of a node's GPUs: whole, shared or cut, as its configuration and labels say.

The plugin's config-manager watches the node's label and sends a hangup when it changes; so does a new cut.
"""

from local.fleet.faults import device as device_faults
from local.fleet.gpus.gpu_sharing import UNSHARED, Sharing, sharing_of
from local.fleet.interfaces import Container, Node
from local.fleet.world import labels

CONFIG = "nvidia.com/device-plugin.config"


def told(container: Container) -> tuple[str, ...]:
    """All on which an offer depends, cheap to ask: the picked configuration, and the cut."""
    kubelet = container.pod.kubelet
    return _picked(container), *(f"{slice_}={count}" for slice_, count in sorted(kubelet.slices.items()))


def sharing(container: Container) -> Sharing:
    """The sharing that the plugin's configuration gives to this node."""
    name, _ = _configurations(container)
    if not name:
        return UNSHARED
    world = container.pod.kubelet.world
    found = world.api.find(f"/api/v1/namespaces/{container.pod.namespace}/configmaps/{name}")
    return sharing_of((found or {}).get("data", {}).get(_picked(container), ""))


def mig_strategy(kubelet: Node) -> str:
    """Under which names slices are offered, by the operator's policy."""
    policy = next(iter(kubelet.world.policies.all()), {})
    return str(policy.get("spec", {}).get("mig", {}).get("strategy", "single"))


def announce(container: Container) -> list[str]:
    """Tell the kubelet what there is; the names of the resources. What was offered before is no more."""
    kubelet, shared = container.pod.kubelet, sharing(container)
    offered = _slices(kubelet, shared)
    for resource in list(kubelet.allocatable):
        if resource not in (offered or [shared.resource]):
            kubelet.withdraw(resource)
    if not offered:
        device_faults.announce(kubelet, shared)
        return [shared.resource]
    for resource, count in offered.items():
        kubelet.announce(resource, count)
    return list(offered)


def _slices(kubelet: Node, shared: Sharing) -> dict[str, int]:
    """The slices on offer, by resource; nothing where GPUs are whole."""
    if mig_strategy(kubelet) == "mixed":
        return {f"nvidia.com/mig-{name}": count * kubelet.gpus for name, count in kubelet.slices.items()}
    together = sum(kubelet.slices.values())
    return {shared.resource: together * kubelet.gpus * shared.replicas} if together else {}


def _picked(container: Container) -> str:
    kubelet = container.pod.kubelet
    node = kubelet.world.nodes.find("", kubelet.name) or {"metadata": {}}
    return labels(node).get(CONFIG) or _configurations(container)[1]


def _configurations(container: Container) -> tuple[str, str]:
    """The ConfigMap with the plugin's configurations, "" where there is none, and which one is the default."""
    environment = container.environment
    if "CONFIG_MAP" in environment:
        return environment["CONFIG_MAP"], environment.get("DEFAULT", "")
    # The chart without the operator mounts it, and tells the container beside that watches the label.
    volumes = container.pod.pod["spec"].get("volumes", [])
    name = next((one["configMap"]["name"] for one in volumes if one["name"] == "available-configs"), "")
    told = (one.environment.get("DEFAULT_CONFIG", "") for one in container.pod.containers)
    return name, next(filter(None, told), "")
