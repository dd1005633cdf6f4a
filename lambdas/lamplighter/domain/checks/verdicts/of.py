"""One verdict from one tool's raw output: picks the parser and the instance type's table.

What each output means is decided in verdict_<tool>.py.
"""

from lamplighter.domain.checks.verdicts.dcgm import dcgm
from lamplighter.domain.checks.verdicts.nccl import nccl
from lamplighter.domain.checks.verdicts.nvidia_smi import nvidia_smi
from lamplighter.domain.checks.verdicts.tool_output import decoded
from lamplighter.domain.checks.verdicts.verdict import Verdict, not_proven
from lamplighter.domain.gpu.instance_types import gpu_type

PARSERS = {"nvidia-smi": nvidia_smi, "dcgm": dcgm, "nccl": nccl}


def verdict_of(check: str, instance_type: str, gpus: int, exit_code: int, raw: bytes) -> Verdict:
    """Judges `raw`, the tool's output as it came. `check` is one of PARSERS."""
    kind = gpu_type(instance_type)
    if kind is None:
        return not_proven(
            f"the instance type {instance_type[:60]} is not known, so nothing can be expected of it"
        )
    return PARSERS[check](decoded(raw), exit_code, gpus, kind)
