"""NVIDIA's tools in a pod that holds GPUs: nvidia-smi, the vectorAdd sample, dcgmi diag.

They print what the real tools print for a healthy GPU of the machine's model.
"""

import json
import re
import uuid
from collections.abc import Generator

from local.fleet.coroutines import Pause
from local.fleet.gpus.hardware import CUDA_VERSION, DRIVER_VERSION, Gpu
from local.fleet.interfaces import Container

Program = Generator[Pause, None, int]
_NO_PROGRAM = 127
_NO_DEVICE = 1
_SMI_SECONDS = 2.0
_VECTOR_ADD_SECONDS = 4.0
#: The time of a diagnostic run by level: r1 half a minute, r2 two minutes, r3 a quarter of an hour.
_DIAG_SECONDS = {1: 30.0, 2: 120.0, 3: 900.0, 4: 3600.0}
_TARGETED_SECONDS = 120.0
_DIAG_TESTS = {
    "Deployment": (1, ["software"]),
    "Integration": (2, ["pcie"]),
    "Hardware": (2, ["memory", "diagnostic"]),
    "Stress": (3, ["memory_bandwidth", "targeted_stress", "targeted_power"]),
}


def nvidia_smi(container: Container) -> Program:
    """Answers a query as CSV, or prints a short table."""
    yield _SMI_SECONDS
    gpu, count = container.pod.kubelet.hardware.gpu, container.pod.gpus
    if gpu is None or not count:
        container.say('exec: "nvidia-smi": executable file not found in $PATH')
        return _NO_PROGRAM
    if " nvlink " in container.words:
        container.say("\n".join(_nvlinks(container, gpu, index) for index in range(count)))
        return 0
    query = re.search(r"--query-gpu=(\S+)", container.words)
    style = re.search(r"--format=(\S+)", container.words)
    if not query:
        container.say(_table(gpu, count))
        return 0
    fields = query[1].split(",")
    options = style[1].split(",") if style else ["csv"]
    rows = [[_value(container, gpu, index, field) for field in fields] for index in range(count)]
    if "nounits" in options:
        rows = [[re.sub(r" (MiB|W|%|MHz)$", "", value) for value in row] for row in rows]
    if "noheader" not in options:
        rows.insert(0, [_heading(field, nounits="nounits" in options) for field in fields])
    container.say("\n".join(", ".join(row) for row in rows))
    return 0


def vector_add(container: Container) -> Program:
    """NVIDIA's sample: it adds two vectors on the GPU and compares the result."""
    yield _VECTOR_ADD_SECONDS
    container.say("[Vector addition of 50000 elements]")
    if not container.pod.gpus or container.pod.kubelet.hardware.gpu is None:
        container.say("Failed to allocate device vector A (error code no CUDA-capable device is detected)!")
        return _NO_DEVICE
    container.say(
        "Copy input data from the host memory to the CUDA device\n"
        "CUDA kernel launch with 196 blocks of 256 threads\n"
        "Copy output data from the CUDA device to the host memory\n"
        "Test PASSED\n"
        "Done"
    )
    return 0


def dcgmi_diag(container: Container) -> Program:
    """DCGM 4's diagnostic as JSON (`-j`)."""
    level_asked = re.search(r"-r\s*(\d)|--run[ =](\d)", container.words)
    level = int(next(filter(None, level_asked.groups()))) if level_asked else 1
    if not container.pod.gpus:
        container.say(json.dumps({"DCGM Diagnostic": {"runtime_error": "no GPUs found"}}, indent=2))
        return _NO_DEVICE
    # The targeted tests take two minutes each unless a parameter says otherwise.
    told = re.findall(r"targeted_\w+\.test_duration=(\d+)", container.words)
    shortened = sum(_TARGETED_SECONDS - float(seconds) for seconds in told)
    yield max(_DIAG_SECONDS.get(level, 30.0) - shortened, 0.0)
    container.say(json.dumps(_diagnostic(level, container.pod.gpus), indent=2))
    return 0


def gpu_uuid(instance: str, index: int) -> str:
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_URL, f'{instance}/{index}')}"


def _nvlinks(container: Container, gpu: Gpu, index: int) -> str:
    """As nvidia-smi prints the links of one GPU."""
    kubelet = container.pod.kubelet
    head = f"GPU {index}: {gpu.name} (UUID: {gpu_uuid(kubelet.machine.instance_id, index)})"
    if not gpu.links or kubelet.gpus == 1:
        return f"{head}\nDevice does not have or support Nvlink"
    if kubelet.suffers("nvlink-down"):
        return f"{head}\nNVML: Unable to retrieve NVLink information as all links are inActive"
    number, speed = gpu.links
    return "\n".join([head, *(f"\t Link {link}: {speed} GB/s" for link in range(number))])


def _heading(field: str, *, nounits: bool) -> str:
    unit = {"memory.total": " [MiB]", "memory.used": " [MiB]", "power.draw": " [W]"}.get(field, "")
    return field + ("" if nounits else unit)


def _value(container: Container, gpu: Gpu, index: int, field: str) -> str:
    known = {
        "index": str(index),
        "count": str(container.pod.gpus),
        "name": gpu.name,
        "gpu_name": gpu.name,
        "driver_version": DRIVER_VERSION,
        "uuid": gpu_uuid(container.pod.kubelet.machine.instance_id, index),
        "gpu_uuid": gpu_uuid(container.pod.kubelet.machine.instance_id, index),
        "memory.total": f"{gpu.memory_mib} MiB",
        "memory.used": "0 MiB",
        "power.draw": "9.38 W",
        "temperature.gpu": "24",
        "compute_cap": f"{gpu.compute[0]}.{gpu.compute[1]}",
        "ecc.errors.uncorrected.volatile.total": "0",
        "remapped_rows.pending": "0" if gpu.remaps_rows else "[N/A]",
        "remapped_rows.failure": "0" if gpu.remaps_rows else "[N/A]",
        "fabric.state": "Completed" if gpu.fabric and container.pod.kubelet.gpus > 1 else "[N/A]",
        "fabric.status": "Success" if gpu.fabric and container.pod.kubelet.gpus > 1 else "[N/A]",
        "clocks_event_reasons.active": "0x0000000000000001",
        "clocks_throttle_reasons.active": "0x0000000000000001",
    }
    return known.get(field, "[N/A]")


def _table(gpu: Gpu, count: int) -> str:
    head = (
        f"| NVIDIA-SMI {DRIVER_VERSION}   Driver Version: {DRIVER_VERSION}   CUDA Version: {CUDA_VERSION} |"
    )
    rows = [f"|   {index}  {gpu.name:<26} 0MiB / {gpu.memory_mib}MiB |" for index in range(count)]
    return "\n".join([head, *rows])


def _diagnostic(level: int, gpus: int) -> dict[str, object]:
    passed = [
        {"entity_group": "GPU", "entity_group_id": 1, "entity_id": index, "status": "Pass"}
        for index in range(gpus)
    ]
    categories = [
        {
            "category": category,
            "tests": [
                {"name": test, "results": passed, "test_summary": {"status": "Pass"}} for test in tests
            ],
        }
        for category, (least, tests) in _DIAG_TESTS.items()
        if level >= least
    ]
    entities = [
        {"entity_id": index, "serial_num": f"16521230{index:05d}", "device_id": "2237"}
        for index in range(gpus)
    ]
    return {
        "DCGM Diagnostic": {"test_categories": categories},
        "entity_groups": [{"entity_group": "GPU", "entity_group_id": 1, "entities": entities}],
        "metadata": {"DCGM version": "4.5.2", "Driver Version Detected": DRIVER_VERSION},
    }
