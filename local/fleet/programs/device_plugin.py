"""The programs of the device-plugin chart's pods on a node: they announce GPUs, and may label the node.

The programs are those of the operator, which installs the same software. This file has what differs with the chart.
"""

from collections.abc import Callable, Generator, Mapping

from local.fleet.coroutines import Pause, Until
from local.fleet.interfaces import Container, Node
from local.fleet.programs import operator as programs_operator
from local.fleet.world import labels

Program = Generator[Pause, None, int]
NAME = "nvidia-device-plugin"


def find(metadata: Mapping[str, str], container: str) -> Callable[[Container], Program] | None:
    """The program of a container in one of the chart's pods, by the pod's labels; None for any other pod."""
    return _PROGRAMS.get(container) if metadata.get("app.kubernetes.io/name") == NAME else None


def _discover_gpus(container: Container) -> Program:
    """GPU feature discovery writes its result into a file. NFD's worker writes the labels, if one runs."""
    kubelet = container.pod.kubelet
    yield Until(lambda: _worker_runs(kubelet))
    return (yield from programs_operator.discover_gpus(container))


def _worker_runs(kubelet: Node) -> bool:
    return any(
        container.running and labels(pod.pod).get("app.kubernetes.io/name") == "node-feature-discovery"
        for pod in kubelet.pods
        for container in pod.containers
    )


def _pick_once(container: Container) -> Program:
    yield 0.0
    container.say("Selected config from the node's label or the default")
    return 0


def _watch_label(container: Container) -> Program:
    container.say("Waiting for change to 'nvidia.com/device-plugin.config' label")
    yield Until(lambda: False)
    return 0


_PROGRAMS: dict[str, Callable[[Container], Program]] = {
    "nvidia-device-plugin-init": _pick_once,
    "nvidia-device-plugin-sidecar": _watch_label,
    "nvidia-device-plugin-ctr": programs_operator.plug_devices,
    "gpu-feature-discovery-init": _pick_once,
    "gpu-feature-discovery-sidecar": _watch_label,
    "gpu-feature-discovery-ctr": _discover_gpus,
}
