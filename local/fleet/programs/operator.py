"""The programs of the GPU Operator's pods on a node: discover, announce devices, label, validate.

The pods are real objects, and the real DaemonSet controller and scheduler place them. This file has their programs.
"""

from collections.abc import Callable, Generator, Iterator, Mapping

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.faults import device as device_faults
from local.fleet.gpus import device_offers, mig
from local.fleet.gpus.gpu_labels import discovered, pci_labels
from local.fleet.interfaces import Container, Node
from local.fleet.world import TERMINAL, path
from local.kubernetes.api import Object

Program = Generator[Pause, None, int]
_STEP_SECONDS = 4.0
_CUDA_SECONDS = 5.0
_CRASH_SECONDS = 2.0
VALIDATED = "all validations are successful"
_PLUGIN_CRASH = "E main.go:132] error starting plugins: error creating plugin manager: unable to start"


def find(metadata: Mapping[str, str], container: str) -> Callable[[Container], Program] | None:
    """The program of a container in one of the operator's pods, by the pod's labels; None for any other pod."""
    if metadata.get("app.kubernetes.io/name") == "node-feature-discovery":
        return _discover_features if metadata.get("role") == "worker" else _serve
    return _PROGRAMS.get((metadata.get("app", ""), container))


def _serve(_: Container) -> Program:
    yield Until(lambda: False)
    return 0


def _discover_features(container: Container) -> Program:
    kubelet = container.pod.kubelet
    yield kubelet.delay(timings.DISCOVER, "features")
    found = pci_labels(kubelet.hardware)
    container.say(f"feature discovery completed, {len(found)} PCI features of a display controller")
    kubelet.label(found)
    return (yield from _serve(container))


def plug_devices(
    container: Container, before: Callable[[Container], Iterator[Pause]] = lambda _: iter(())
) -> Program:
    """The device plugin, both of the operator and of the chart; `before` comes before each offer."""
    kubelet = container.pod.kubelet
    yield kubelet.delay(timings.REGISTER_DEVICES, "devices")
    if kubelet.suffers("device-plugin-missing"):
        container.say(_PLUGIN_CRASH)
        return 1
    why = device_faults.no_devices(kubelet)
    if why:
        container.say(why)
        yield Until(lambda: not device_faults.no_devices(kubelet) or kubelet.suffers("device-plugin-missing"))
        return 1
    container.pod.at_end(lambda: _withdraw(kubelet))
    while not kubelet.suffers("device-plugin-missing"):
        yield from before(container)
        told = device_offers.told(container)
        for resource in device_offers.announce(container):
            container.say(f"I server.go:197] Starting GRPC server for '{resource}'")
            container.say(f"I server.go:151] Registered device plugin for '{resource}' with Kubelet")
        if device_faults.to_die(kubelet):
            yield timings.XID_STRIKES
            container.say(device_faults.die(kubelet))
            continue
        yield Until(
            lambda told=told: (  # type: ignore[misc]
                kubelet.suffers("device-plugin-missing")
                or device_faults.to_die(kubelet)
                or device_offers.told(container) != told
            )
        )
        if device_offers.told(container) != told:
            container.say('I main.go:243] Received signal "hangup", restarting.')
            yield kubelet.delay(timings.REGISTER_DEVICES, "devices", *device_offers.told(container))
    _withdraw(kubelet)
    container.say(_PLUGIN_CRASH)
    return 1


def _withdraw(kubelet: Node) -> None:
    for resource in list(kubelet.allocatable):
        kubelet.withdraw(resource)


def discover_gpus(container: Container, tell: Callable[[Mapping[str, str]], None] | None = None) -> Program:
    """GPU feature discovery, both of the operator and of the chart. It labels the node, or tells its labels."""
    kubelet = container.pod.kubelet
    tell = tell or kubelet.label
    yield kubelet.delay(timings.DISCOVER, "gpus")
    while kubelet.machine.nvidia_image and kubelet.hardware.gpu:
        told = device_offers.told(container)
        strategy = device_offers.mig_strategy(container)
        shared = device_offers.sharing(container)
        found = discovered(kubelet.hardware, kubelet.gpus, shared, strategy, kubelet.slices)
        tell(found | {"nvidia.com/gpu.machine": kubelet.machine.instance_type})
        container.say("I main.go:205] Creating Labels")
        yield Until(lambda told=told: device_offers.told(container) != told)  # type: ignore[misc]
        yield kubelet.delay(timings.DISCOVER, "gpus", *device_offers.told(container))
    return (yield from _serve(container))


def _export_metrics(container: Container) -> Program:
    container.say("Starting webserver on :9400")
    return (yield from _serve(container))


def _validate_driver(container: Container) -> Program:
    yield _STEP_SECONDS
    why = device_faults.driver_fails(container.pod.kubelet)
    if why:
        container.say(why)
        return 1
    container.say("driver is pre-installed on the host; nvidia-smi succeeded")
    return 0


def _validate_toolkit(container: Container) -> Program:
    yield _STEP_SECONDS
    container.say("toolkit is ready")
    return 0


def _validate_cuda(container: Container) -> Program:
    yield _CUDA_SECONDS
    if container.pod.kubelet.suffers("validator-stuck"):
        container.say("cuda workload validation failed: vectorAdd ended with exit code 1")
        return 1
    container.say("cuda workload validation is successful")
    return 0


def _validate_plugin(container: Container) -> Program:
    """Waits for the device. With WITH_WORKLOAD it also runs a pod that takes one GPU."""
    kubelet = container.pod.kubelet
    yield Until(lambda: any(count > 0 for count in kubelet.allocatable.values()))
    yield _STEP_SECONDS
    if container.environment.get("WITH_WORKLOAD") == "true":
        resource = next(name for name, count in kubelet.allocatable.items() if count > 0)
        workload = _workload(container, resource)
        namespace, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
        # A failed pod stays until the next try, so that people can look at it.
        kubelet.world.api.delete(path(workload), {"gracePeriodSeconds": 0})
        yield Until(lambda: kubelet.world.pods.find(namespace, name) is None)
        kubelet.world.api.create(f"/api/v1/namespaces/{namespace}/pods", workload)

        def finished() -> bool:
            pod = kubelet.world.pods.find(namespace, name)
            return pod is not None and pod.get("status", {}).get("phase") in TERMINAL

        yield Until(finished)
        pod = kubelet.world.pods.find(namespace, name)
        if pod is None or pod["status"]["phase"] != "Succeeded":
            container.say("plugin workload validation failed; trying again")
            return 1
    container.say("device plugin validation is successful")
    return 0


def _workload(container: Container, resource: str) -> Object:
    """Bound to the node by name, as the operator does: without the scheduler, the kubelet's admission decides."""
    pod = container.pod
    owner = pod.pod["metadata"].get("ownerReferences", [])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod.name.replace("nvidia-operator-validator", "nvidia-device-plugin-validator"),
            "namespace": pod.namespace,
            "labels": {"app": "nvidia-device-plugin-validator"},
            "ownerReferences": owner,
        },
        "spec": {
            "nodeName": pod.kubelet.name,
            "restartPolicy": "OnFailure",
            "tolerations": pod.pod["spec"].get("tolerations", []),
            "containers": [
                {
                    "name": "nvidia-device-plugin-validator",
                    "image": container.image,
                    "command": ["vectorAdd"],
                    "resources": {"requests": {resource: "1"}, "limits": {resource: "1"}},
                }
            ],
        },
    }


def _operate(container: Container) -> Program:
    """The operator's own pod. operator.py does its work while this runs."""
    yield Until(lambda: container.pod.world.faults.holds("operator-not-ready"))
    # Earlier than the first readiness probe.
    yield _CRASH_SECONDS
    container.say(
        '{"level":"error","logger":"setup","msg":"problem running manager","error":"failed to wait for '
        'clusterpolicy-controller caches to sync: timed out waiting for cache to be synced"}'
    )
    return 1


def _rest_validated(container: Container) -> Program:
    container.say(VALIDATED)
    return (yield from _serve(container))


_PROGRAMS: dict[tuple[str, str], Callable[[Container], Program]] = {
    ("gpu-operator", "gpu-operator"): _operate,
    ("nvidia-device-plugin-daemonset", "toolkit-validation"): _validate_toolkit,
    ("nvidia-device-plugin-daemonset", "nvidia-device-plugin"): plug_devices,
    ("gpu-feature-discovery", "toolkit-validation"): _validate_toolkit,
    ("gpu-feature-discovery", "gpu-feature-discovery"): discover_gpus,
    ("nvidia-mig-manager", "toolkit-validation"): _validate_toolkit,
    ("nvidia-mig-manager", "nvidia-mig-manager"): mig.manage,
    ("nvidia-dcgm-exporter", "toolkit-validation"): _validate_toolkit,
    ("nvidia-dcgm-exporter", "nvidia-dcgm-exporter"): _export_metrics,
    ("nvidia-operator-validator", "driver-validation"): _validate_driver,
    ("nvidia-operator-validator", "toolkit-validation"): _validate_toolkit,
    ("nvidia-operator-validator", "cuda-validation"): _validate_cuda,
    ("nvidia-operator-validator", "plugin-validation"): _validate_plugin,
    ("nvidia-operator-validator", "nvidia-operator-validator"): _rest_validated,
}
