"""The metrics that the DCGM exporter of a node serves: how busy each of its GPUs is.

A pod that holds GPUs keeps them busy while it runs, unless its command sleeps. Which pod has which GPU is not
simulated: the first GPUs are the busy ones.
"""

from collections.abc import Iterator

from local.fleet.interfaces import Node, Pod
from local.fleet.programs.cuda import gpu_uuid

PORT = 9400
_EXPORTERS = {"nvidia-dcgm-exporter", "exporter"}
"""The containers of the operator's DaemonSet and of the exporter's own chart."""


def served(node: Node, pod: Pod, port: int) -> str | None:
    """The metrics that a pod of this node serves at a port; None where nothing listens."""
    exports = any(each.name in _EXPORTERS and each.running for each in pod.containers)
    return "".join(_lines(node)) if exports and port == PORT else None


def _lines(node: Node) -> Iterator[str]:
    busy = sum(pod.gpus for pod in node.pods if _works(pod))
    model = node.hardware.gpu.name if node.hardware.gpu else ""
    for name, kind, highest in (
        ("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", "97"),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "Ratio of time the graphics engine is active.", "0.968000"),
    ):
        yield f"# HELP {name} {kind}\n# TYPE {name} gauge\n"
        for index in range(node.gpus):
            if index not in node.dead:
                uuid = gpu_uuid(node.machine.instance_id, index)
                yield (
                    f'{name}{{gpu="{index}",UUID="{uuid}",device="nvidia{index}",modelName="{model}",'
                    f'Hostname="{node.name}"}} {highest if index < busy else "0"}\n'
                )


def _works(pod: Pod) -> bool:
    return any(each.holds_gpus and each.running and "sleep" not in each.words for each in pod.containers)
