"""The effects of a fault on the containers of a node: why an image, a sandbox or a container fails.

The texts are those of containerd, runc and NVIDIA's container toolkit.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from local.fleet.coroutines import Pause
from local.fleet.gpus.hardware import CUDA_VERSION
from local.fleet.images import cuda_needed
from local.fleet.interfaces import Container, Pod
from local.fleet.programs.cuda import gpu_uuid
from local.fleet.world import labels

LOST = "Failed to initialize NVML: Unknown Error"
OLD_CUDA = (12, 4)
#: Seconds until a reload of systemd takes the GPU from a container that has just started.
_LOSE_SECONDS = 1.0
_HOOK = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create "
    "failed: unable to start container process: error during container init: error running prestart hook #0: "
    "exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\n"
)


@dataclass(frozen=True)
class StartFailure:
    """Why a container failed to start, as its status says it."""

    reason: str
    message: str


def refused_pull(image: str) -> str:
    """Why a registry refuses an image."""
    name, _, tag = image.partition("@")[0].rpartition(":")
    host, _, repository = (name or tag).partition("/")
    address = f"https://{host}/v2/{repository}/manifests/{tag if name else 'latest'}"
    return (
        f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": '
        f"unexpected status from HEAD request to {address}: 429 Too Many Requests"
    )


def no_sandbox(pod: Pod) -> str:
    """Why containerd creates no sandbox for the pod; "" if it does."""
    # On an NVIDIA image that runtime is also the default, for pods that name none.
    needs = pod.pod["spec"].get("runtimeClassName") == "nvidia" or pod.gpus > 0
    if needs and pod.kubelet.suffers("runtime-missing"):
        return (
            "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: "
            'no runtime for "nvidia" is configured'
        )
    return ""


def not_created(container: Container) -> StartFailure | None:
    """Why the runtime cannot create the container; the kubelet retries it."""
    kubelet = container.pod.kubelet
    if container.holds_gpus and kubelet.suffers("cdi-unresolvable"):
        device = gpu_uuid(kubelet.machine.instance_id, 0)
        return StartFailure(
            "CreateContainerError",
            "failed to create containerd container: CDI device injection failed: unresolvable CDI devices "
            f"nvidia.com/gpu={device}",
        )
    return None


def not_started(container: Container) -> StartFailure | None:
    """Why the created container does not start; it counts as a failed run."""
    if not container.holds_gpus:
        return None
    here = tuple(int(part) for part in CUDA_VERSION.split("."))
    needed = cuda_needed(container.image, container.environment) or here
    if needed <= (OLD_CUDA if container.pod.kubelet.suffers("driver-too-old") else here):
        return None
    return StartFailure(
        "StartError",
        f"{_HOOK}nvidia-container-cli: requirement error: unsatisfied condition: cuda>={needed[0]}.{needed[1]}, "
        "please update your driver to a newer version, or use an earlier cuda container: unknown",
    )


def started(container: Container) -> None:
    """A container runs; under gpu-lost it keeps its GPU only for a moment."""
    if container.pod.kubelet.suffers("gpu-lost"):
        container.pod.world.coroutines.tell(_soon(container))


def lose_gpu(container: Container) -> None:
    """What a container's own program prints when it next uses the GPU that it held."""
    # NVIDIA's own pods had finished with it before.
    if (
        container.running
        and container.holds_gpus
        and "nvidia" not in labels(container.pod.pod).get("app", "")
    ):
        container.say(LOST)


def _soon(container: Container) -> Iterator[Pause]:
    yield _LOSE_SECONDS
    lose_gpu(container)
