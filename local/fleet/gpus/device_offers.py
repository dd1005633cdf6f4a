"""How a device plugin offers a node's GPUs: whole, shared or in slices, by its configuration and the node's labels.

The plugin's config-manager watches the label of the node and restarts the plugin when it changes. New MIG slices do the
same.
"""

from dataclasses import dataclass

from local.fleet.faults import device as device_faults
from local.fleet.gpus.gpu_sharing import Sharing, sharing_of
from local.fleet.interfaces import Container
from local.fleet.world import labels

CONFIG = "nvidia.com/device-plugin.config"
#: The label app.kubernetes.io/name of the pods of the chart without the operator.
CHART = "nvidia-device-plugin"


def told(container: Container) -> tuple[str, ...]:
    """Everything that decides the offer, cheap to read: the label of the node, and the slices."""
    kubelet = container.pod.kubelet
    return asked(container), *(f"{slice_}={count}" for slice_, count in sorted(kubelet.slices.items()))


def sharing(container: Container) -> Sharing:
    """The sharing in the plugin's configuration for this node."""
    return sharing_of(configurations(container).get(picked(container), ""))


def mig_strategy(container: Container) -> str:
    """The MIG strategy, which decides the resource names of slices: of the operator's policy, or of the chart's values.

    The chart leaves it out by default, which is none.
    """
    if container.pod.pod["metadata"].get("labels", {}).get("app.kubernetes.io/name") == CHART:
        return container.environment.get("MIG_STRATEGY") or "none"
    policy = next(iter(container.pod.world.policies.all()), {})
    return str(policy.get("spec", {}).get("mig", {}).get("strategy", "single"))


def announce(container: Container) -> list[str]:
    """Tells the kubelet which devices exist, and returns their resource names. It replaces the earlier offer."""
    kubelet, shared = container.pod.kubelet, sharing(container)
    offered = _slices(container, shared)
    for resource in list(kubelet.allocatable):
        if resource not in (offered or [shared.resource]):
            kubelet.withdraw(resource)
    if not offered:
        device_faults.announce(kubelet, shared)
        return [shared.resource]
    for resource, count in offered.items():
        kubelet.announce(resource, count)
    return list(offered)


def _slices(container: Container, shared: Sharing) -> dict[str, int]:
    """The offered slices, by resource; empty if GPUs are whole."""
    kubelet = container.pod.kubelet
    if mig_strategy(container) == "mixed":
        return {f"nvidia.com/mig-{name}": count * kubelet.gpus for name, count in kubelet.slices.items()}
    together = sum(kubelet.slices.values())
    return {shared.resource: together * kubelet.gpus * shared.replicas} if together else {}


def asked(container: Container) -> str:
    """The configuration that the node's label names; "" without the label."""
    kubelet = container.pod.kubelet
    node = kubelet.world.nodes.find("", kubelet.name) or {"metadata": {}}
    return labels(node).get(CONFIG, "")


def picked(container: Container) -> str:
    """The configuration of this node: by its label, the default, or what the chart falls back to."""
    return asked(container) or _source(container).default or _fallback(container)


def configurations(container: Container) -> dict[str, str]:
    """Every configuration by its name."""
    name = _source(container).config_map
    if not name:
        return {}
    path = f"/api/v1/namespaces/{container.pod.namespace}/configmaps/{name}"
    found: dict[str, str] = (container.pod.world.api.find(path) or {}).get("data", {})
    return found


@dataclass(frozen=True)
class _Source:
    """The ConfigMap with the plugin's configurations ("" if there is none), the default one, and the fallbacks."""

    config_map: str
    default: str
    fallbacks: tuple[str, ...] = ()


def _source(container: Container) -> _Source:
    environment = container.environment
    if "CONFIG_MAP" in environment:
        return _Source(environment["CONFIG_MAP"], environment.get("DEFAULT", ""))
    # The chart without the operator mounts it, and tells the container that watches the label.
    volumes = container.pod.pod["spec"].get("volumes", [])
    name = next((one["configMap"]["name"] for one in volumes if one["name"] == "available-configs"), "")
    told = [one.environment for one in container.pod.containers if "DEFAULT_CONFIG" in one.environment]
    default = next(filter(None, (one["DEFAULT_CONFIG"] for one in told)), "")
    fallbacks = told[0].get("FALLBACK_STRATEGIES", "").split(",") if told else []
    return _Source(name, default, tuple(fallbacks))


def _fallback(container: Container) -> str:
    """Without a label and a default: the one named `default`, or the only one, in the order of the chart's value."""
    fallbacks = _source(container).fallbacks
    if not fallbacks:
        return ""
    known = configurations(container)
    single = next(iter(known)) if len(known) == 1 else ""
    choices = {"named": "default" if "default" in known else "", "single": single}
    return next(filter(None, (choices.get(one, "") for one in fallbacks)), "")
