"""Which GPUs are busy, by the metrics of NVIDIA's DCGM exporter (docs.nvidia.com/datacenter/dcgm, field identifiers).

A GPU is busy when either metric is above zero. One that neither metric mentions is not known. Beside a sample that
cannot be read none is known to be idle: it may be of another slice of the same GPU. From version 4.9.0 on the exporter
names its default metrics as DCGM 4.7 does (github.com/NVIDIA/dcgm-exporter, releases).
"""

import re
from collections.abc import Iterable, Mapping

LARGEST = 4 * 1024 * 1024
"""Of the exporter's text. Eight GPUs in slices with the labels of their pods have some hundred kilobytes."""
_LONGEST_LINE = 4096
_MOST_GPUS = 64
_HIGHEST = {
    "DCGM_FI_DEV_GPU_UTIL": 100.0,
    "DCGM_FI_DEV_GPU_UTIL_RATIO": 1.0,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 1.0,
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": 1.0,
}
"""Per cent, and ratios. Only those of the engine exist for a GPU in MIG slices."""
NodeReading = tuple[int, Mapping[str, bool] | None]
"""The GPUs that a node has, and whether each one that its exporter mentions is busy; None where none answered."""
_SAMPLE = re.compile(
    rf'({"|".join(_HIGHEST)})\{{(?:[^\n]*,)?UUID="([\w-]{{1,80}})"[^\n]*\}} +([0-9][0-9.eE+-]{{0,30}})(?: +[0-9]+)?'
)


def busy_gpus(text: str) -> Mapping[str, bool] | None:
    """By GPU of one node, whether it is busy; None for a text that is no answer of an exporter."""
    if len(text) > LARGEST:
        return None
    busy: dict[str, bool] = {}
    strange = False
    for line in text.split("\n"):
        if not line.startswith(tuple(_HIGHEST)):
            continue
        sample = _SAMPLE.fullmatch(line) if len(line) <= _LONGEST_LINE else None
        try:
            value = float(sample[3]) if sample else -1
        except ValueError:
            value = -1
        if sample and 0 <= value <= _HIGHEST[sample[1]]:
            busy[sample[2]] = busy.get(sample[2], False) or value > 0
        else:
            strange = True
    if strange:
        busy = {gpu: True for gpu in busy if busy[gpu]}
    return busy if 0 < len(busy) <= _MOST_GPUS else None


def any_busy(nodes: Iterable[NodeReading]) -> bool | None:
    """Whether a GPU of these nodes is busy, by the GPUs that each has and its reading; None where it is not known."""
    whole = True
    for gpus, reading in nodes:
        if reading and any(reading.values()):
            return True
        whole = whole and reading is not None and len(reading) >= gpus
    return False if whole else None
