"""The verdict on one tool's raw output: picks the tool's parser and the instance type's figures."""

from lamplighter.domain.checks.verdicts.dcgm import dcgm
from lamplighter.domain.checks.verdicts.nccl import nccl
from lamplighter.domain.checks.verdicts.nvidia_smi import nvidia_smi
from lamplighter.domain.checks.verdicts.tool_output import decoded
from lamplighter.domain.checks.verdicts.verdict import Verdict, not_proven, unknown_type
from lamplighter.domain.gpu.instance_types import gpu_type

PARSERS = {"nvidia-smi": nvidia_smi, "dcgm": dcgm, "nccl": nccl}


def verdict_of(check: str, instance_type: str, gpus: int, exit_code: int, raw: bytes) -> Verdict:
    """Judges `raw`, the tool's output as it came. `check` is one of PARSERS."""
    kind = gpu_type(instance_type)
    if kind is None:
        return not_proven(unknown_type(instance_type))
    return PARSERS[check](decoded(raw), exit_code, gpus, kind)
