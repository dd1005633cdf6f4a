"""What NVIDIA's tools print and how they exit on a node with a broken driver or GPU."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial

from local.fleet.coroutines import Pause
from local.fleet.faults import container as container_faults
from local.fleet.faults import device as device_faults
from local.fleet.interfaces import Container
from local.fleet.programs import cuda as programs_cuda
from local.fleet.world import labels

Program = Generator[Pause, None, int]
Tool = Callable[[Container], Program]
_SECONDS = 2.0


@dataclass(frozen=True)
class _Break:
    """By fault: the output and exit code of nvidia-smi (its documented codes), and the CUDA error of a program."""

    said: str
    status: int
    cuda: str


_BREAKS = {
    "driver-mismatch": _Break(
        f"{device_faults.MISMATCH}\n{device_faults.NVML_VERSION}",
        18,
        "system has unsupported display driver / cuda driver combination",
    ),
    "driver-broken": _Break(device_faults.BROKEN, 9, "no CUDA-capable device is detected"),
    "gpu-lost": _Break(container_faults.LOST, 255, "unknown error"),
}


def find(container: Container, tool: Tool) -> Tool:
    """The tool as it is, or as it fails here."""
    for fault, broken in _BREAKS.items():
        # NVIDIA's own pods had their GPU before it was lost.
        spared = fault == "gpu-lost" and "nvidia" in labels(container.pod.pod).get("app", "")
        if container.holds_gpus and container.pod.kubelet.suffers(fault) and not spared:
            return partial(_fail, broken=broken, tool=tool)
    return tool


def _fail(container: Container, *, broken: _Break, tool: Tool) -> Program:
    yield _SECONDS
    if tool is programs_cuda.vector_add:
        container.say("[Vector addition of 50000 elements]")
        container.say(f"Failed to allocate device vector A (error code {broken.cuda})!")
        return 1
    container.say(broken.said)
    return broken.status
