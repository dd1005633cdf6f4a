"""How a device plugin offers a node's GPUs: whole, shared or in slices, by its configuration and the node's labels.

The plugin's config-manager watches the label of the node and restarts the plugin when it changes. New MIG slices do the
same.
"""

from local.fleet.faults import device as device_faults
from local.fleet.gpus.gpu_sharing import UNSHARED, Sharing, sharing_of
from local.fleet.interfaces import Container, Node
from local.fleet.world import labels

CONFIG = "nvidia.com/device-plugin.config"


def told(container: Container) -> tuple[str, ...]:
    """Everything that decides the offer, cheap to read: the chosen configuration, and the slices."""
    kubelet = container.pod.kubelet
    return _picked(container), *(f"{slice_}={count}" for slice_, count in sorted(kubelet.slices.items()))


def sharing(container: Container) -> Sharing:
    """The sharing in the plugin's configuration for this node."""
    name, _ = _configurations(container)
    if not name:
        return UNSHARED
    world = container.pod.kubelet.world
    found = world.api.find(f"/api/v1/namespaces/{container.pod.namespace}/configmaps/{name}")
    return sharing_of((found or {}).get("data", {}).get(_picked(container), ""))


def mig_strategy(kubelet: Node) -> str:
    """The MIG strategy of the operator's policy: the resource names of slices."""
    policy = next(iter(kubelet.world.policies.all()), {})
    return str(policy.get("spec", {}).get("mig", {}).get("strategy", "single"))


def announce(container: Container) -> list[str]:
    """Tells the kubelet which devices exist, and returns their resource names. It replaces the earlier offer."""
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
    """The offered slices, by resource; empty if GPUs are whole."""
    if mig_strategy(kubelet) == "mixed":
        return {f"nvidia.com/mig-{name}": count * kubelet.gpus for name, count in kubelet.slices.items()}
    together = sum(kubelet.slices.values())
    return {shared.resource: together * kubelet.gpus * shared.replicas} if together else {}


def _picked(container: Container) -> str:
    kubelet = container.pod.kubelet
    node = kubelet.world.nodes.find("", kubelet.name) or {"metadata": {}}
    return labels(node).get(CONFIG) or _configurations(container)[1]


def _configurations(container: Container) -> tuple[str, str]:
    """The ConfigMap with the plugin's configurations ("" if there is none), and the name of the default one."""
    environment = container.environment
    if "CONFIG_MAP" in environment:
        return environment["CONFIG_MAP"], environment.get("DEFAULT", "")
    # The chart without the operator mounts it, and tells the container that watches the label.
    volumes = container.pod.pod["spec"].get("volumes", [])
    name = next((one["configMap"]["name"] for one in volumes if one["name"] == "available-configs"), "")
    told = (one.environment.get("DEFAULT_CONFIG", "") for one in container.pod.containers)
    return name, next(filter(None, told), "")
