"""What the GPU Operator's pods do on a node: discover, announce devices, label, validate.

Their pods are real objects, placed by the real DaemonSet controller and scheduler; these are their programs.
"""

from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING

from local.fleet import timings
from local.fleet.gpu_labels import discovered, pci_labels
from local.fleet.gpu_sharing import UNSHARED, Sharing, sharing_of
from local.fleet.stories import Pause, Until
from local.fleet.world import TERMINAL, labels, path
from local.kubernetes.api import Object

if TYPE_CHECKING:
    from local.fleet.container import ContainerRun

Program = Generator[Pause, None, int]
_STEP_SECONDS = 4.0
_CUDA_SECONDS = 5.0
VALIDATED = "all validations are successful"


def find(metadata: Mapping[str, str], container: str) -> Callable[["ContainerRun"], Program] | None:
    """The program of a container in one of the operator's pods, by the pod's labels; None for any other pod."""
    if metadata.get("app.kubernetes.io/name") == "node-feature-discovery":
        return _discover_features if metadata.get("role") == "worker" else _serve
    return _PROGRAMS.get((metadata.get("app", ""), container))


def _serve(_: "ContainerRun") -> Program:
    yield Until(lambda: False)
    return 0


def _discover_features(container: "ContainerRun") -> Program:
    kubelet = container.pod.kubelet
    yield kubelet.delay(timings.DISCOVER, "features")
    found = pci_labels(kubelet.hardware)
    container.say(f"feature discovery completed, {len(found)} PCI features of a display controller")
    kubelet.label(found)
    return (yield from _serve(container))


def _plug_devices(container: "ContainerRun") -> Program:
    kubelet = container.pod.kubelet
    yield kubelet.delay(timings.REGISTER_DEVICES, "devices")
    if kubelet.behaviour.device_plugin_crashes:
        container.say("E main.go:132] error starting plugins: error creating plugin manager: unable to start")
        return 1
    if not kubelet.machine.nvidia_image:
        container.say(
            "E factory.go:112] Incompatible platform detected\n"
            "E factory.go:113] could not load NVML library: libnvidia-ml.so.1: cannot open shared object file"
        )
        return (yield from _serve(container))
    shared = _sharing(container)
    container.say(f"I server.go:197] Starting GRPC server for '{shared.resource}'")
    container.say(f"I server.go:151] Registered device plugin for '{shared.resource}' with Kubelet")
    container.pod.at_end(lambda: kubelet.withdraw(shared.resource))
    kubelet.announce(shared.resource, kubelet.gpus * shared.replicas)
    return (yield from _serve(container))


def _discover_gpus(container: "ContainerRun") -> Program:
    kubelet = container.pod.kubelet
    yield kubelet.delay(timings.DISCOVER, "gpus")
    if kubelet.machine.nvidia_image and kubelet.hardware.gpu:
        policy = next(iter(kubelet.world.policies.all()), {})
        strategy = policy.get("spec", {}).get("mig", {}).get("strategy", "single")
        found = discovered(kubelet.hardware, kubelet.gpus, _sharing(container), strategy)
        kubelet.label(found | {"nvidia.com/gpu.machine": kubelet.machine.instance_type})
        container.say("I main.go:205] Creating Labels")
    return (yield from _serve(container))


def _sharing(container: "ContainerRun") -> Sharing:
    """The sharing that the plugin's configuration gives to this node."""
    name = container.environment.get("CONFIG_MAP")
    if not name:
        return UNSHARED
    kubelet = container.pod.kubelet
    node = kubelet.world.nodes.find("", kubelet.name) or {"metadata": {}}
    wanted = labels(node).get("nvidia.com/device-plugin.config") or container.environment.get("DEFAULT", "")
    found = kubelet.world.api.find(f"/api/v1/namespaces/{container.pod.namespace}/configmaps/{name}")
    return sharing_of((found or {}).get("data", {}).get(wanted, ""))


def _export_metrics(container: "ContainerRun") -> Program:
    container.say("Starting webserver on :9400")
    return (yield from _serve(container))


def _validate_driver(container: "ContainerRun") -> Program:
    yield _STEP_SECONDS
    if not container.pod.kubelet.machine.nvidia_image:
        container.say("couldn't find nvidia-smi on the host: no pre-installed driver")
        return 1
    container.say("driver is pre-installed on the host; nvidia-smi succeeded")
    return 0


def _validate_toolkit(container: "ContainerRun") -> Program:
    yield _STEP_SECONDS
    container.say("toolkit is ready")
    return 0


def _validate_cuda(container: "ContainerRun") -> Program:
    yield _CUDA_SECONDS
    container.say("cuda workload validation is successful")
    return 0


def _validate_plugin(container: "ContainerRun") -> Program:
    """Waits for the device; with WITH_WORKLOAD it also runs a pod that takes one GPU."""
    kubelet = container.pod.kubelet
    yield Until(lambda: any(count > 0 for count in kubelet.allocatable.values()))
    yield _STEP_SECONDS
    if container.environment.get("WITH_WORKLOAD") == "true":
        resource = next(name for name, count in kubelet.allocatable.items() if count > 0)
        workload = _workload(container, resource)
        namespace, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
        kubelet.world.api.create(f"/api/v1/namespaces/{namespace}/pods", workload)

        def finished() -> bool:
            pod = kubelet.world.pods.find(namespace, name)
            return pod is not None and pod.get("status", {}).get("phase") in TERMINAL

        yield Until(finished)
        pod = kubelet.world.pods.find(namespace, name)
        if pod is None or pod["status"]["phase"] != "Succeeded":
            container.say("plugin workload validation failed; trying again")
            kubelet.world.api.delete(path(workload))
            return 1
    container.say("device plugin validation is successful")
    return 0


def _workload(container: "ContainerRun", resource: str) -> Object:
    """Bound to the node by name, as the operator does: no scheduler, so the kubelet's admission decides."""
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


def _rest_validated(container: "ContainerRun") -> Program:
    container.say(VALIDATED)
    return (yield from _serve(container))


_PROGRAMS: dict[tuple[str, str], Callable[["ContainerRun"], Program]] = {
    ("nvidia-device-plugin-daemonset", "toolkit-validation"): _validate_toolkit,
    ("nvidia-device-plugin-daemonset", "nvidia-device-plugin"): _plug_devices,
    ("gpu-feature-discovery", "toolkit-validation"): _validate_toolkit,
    ("gpu-feature-discovery", "gpu-feature-discovery"): _discover_gpus,
    ("nvidia-dcgm-exporter", "toolkit-validation"): _validate_toolkit,
    ("nvidia-dcgm-exporter", "nvidia-dcgm-exporter"): _export_metrics,
    ("nvidia-operator-validator", "driver-validation"): _validate_driver,
    ("nvidia-operator-validator", "toolkit-validation"): _validate_toolkit,
    ("nvidia-operator-validator", "cuda-validation"): _validate_cuda,
    ("nvidia-operator-validator", "plugin-validation"): _validate_plugin,
    ("nvidia-operator-validator", "nvidia-operator-validator"): _rest_validated,
}
