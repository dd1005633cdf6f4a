"""The programs of the device-plugin chart's pods on a node: they announce GPUs, and may label the node.

The plugin and GPU feature discovery are those of the operator, which installs the same software. This file has what
differs with the chart, and the exporter of the DCGM chart. feature_discovery.py plays the Node Feature Discovery of the
chart.
"""

from collections.abc import Callable, Generator, Iterator, Mapping

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.faults import device as device_faults
from local.fleet.gpus import device_offers
from local.fleet.interfaces import Container, Node
from local.fleet.programs import operator as programs_operator

Program = Generator[Pause, None, int]
EXPORTER = "dcgm-exporter"
_MPS_DAEMON = "mps-control-daemon-ctr"


def find(metadata: Mapping[str, str], container: str) -> Callable[[Container], Program] | None:
    """The program of a container in a pod of the chart or of the exporter's; None for any other pod."""
    name = metadata.get("app.kubernetes.io/name")
    if name == EXPORTER:
        return _export_metrics
    return _PROGRAMS.get(container) if name == device_offers.CHART else None


def _plug_devices(container: Container) -> Program:
    return (yield from programs_operator.plug_devices(container, _await_mps))


def _await_mps(container: Container) -> Iterator[Pause]:
    """Waits for the MPS daemon of the node, if the configuration shares GPUs by MPS."""
    kubelet = container.pod.kubelet
    if device_offers.sharing(container).strategy == "mps" and not _runs(kubelet, _MPS_DAEMON):
        container.say("I main.go:280] Failed to start one or more plugins. Retrying in 30s...")
        yield Until(lambda: _runs(kubelet, _MPS_DAEMON))


def _runs(kubelet: Node, name: str) -> bool:
    return any(
        container.running and container.name == name for pod in kubelet.pods for container in pod.containers
    )


def _discover_gpus(container: Container) -> Program:
    """Writes what it finds into a file on the node, and deletes the file at its end. The worker of NFD reads it."""
    kubelet = container.pod.kubelet

    def write(found: Mapping[str, str]) -> None:
        kubelet.feature_file = dict(found)
        kubelet.world.coroutines.look_again()

    container.pod.at_end(lambda: write({}))
    return (yield from programs_operator.discover_gpus(container, write))


def _pick_once(container: Container) -> Program:
    """Config-manager at the start of a pod: it links the configuration that the node's label names."""
    yield 0.0
    return 0 if _link(container) else 1


def _follow_label(container: Container) -> Program:
    """Config-manager beside the program: it links another configuration when the label changes."""
    while True:
        asked = device_offers.asked(container)
        if not _link(container):
            return 1
        container.say(f"I main.go:247] Waiting for change to '{device_offers.CONFIG}' label")
        yield Until(lambda asked=asked: device_offers.asked(container) != asked)  # type: ignore[misc]


def _link(container: Container) -> bool:
    picked, known = device_offers.picked(container), device_offers.configurations(container)
    container.say(
        f"I main.go:249] Label change detected: {device_offers.CONFIG}={device_offers.asked(container)}"
    )
    if picked not in known:
        container.say(f"E main.go:209] specified config {picked} does not exist")
        return False
    container.say(f"I main.go:320] Successfully updated to config: {picked}")
    return True


def _serve_mps(container: Container) -> Program:
    kubelet = container.pod.kubelet
    yield kubelet.delay(timings.START_CONTAINER, "mps")
    container.say("I daemon.go:97] Staring MPS daemon resource='nvidia.com/gpu'")
    yield Until(lambda: False)
    return 0


def _export_metrics(container: Container) -> Program:
    """The exporter finds the driver only under the NVIDIA runtime, on a node that has one."""
    yield container.pod.kubelet.delay(timings.START_CONTAINER, "dcgm")
    if why := device_faults.driver_fails(container.pod.kubelet):
        container.say(f'level=ERROR msg="Failed to initialize NVML" error="{why}"')
        return 1
    container.say('level=INFO msg="Starting webserver"')
    yield Until(lambda: False)
    return 0


def _mount_shm(_: Container) -> Program:
    yield 0.0
    return 0


_PROGRAMS: dict[str, Callable[[Container], Program]] = {
    "nvidia-device-plugin-init": _pick_once,
    "nvidia-device-plugin-sidecar": _follow_label,
    "nvidia-device-plugin-ctr": _plug_devices,
    "gpu-feature-discovery-init": _pick_once,
    "gpu-feature-discovery-sidecar": _follow_label,
    "gpu-feature-discovery-ctr": _discover_gpus,
    "mps-control-daemon-mounts": _mount_shm,
    "mps-control-daemon-init": _pick_once,
    "mps-control-daemon-sidecar": _follow_label,
    _MPS_DAEMON: _serve_mps,
}
