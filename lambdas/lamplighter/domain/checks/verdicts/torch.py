"""Reads our torchrun check: the table of nccl-tests, or what PyTorch says where there is none.

The table is verdict_nccl's. Without one, ranks that never met are a failure of the path between their nodes,
and a CUDA error one of a GPU; anything else proves nothing.
"""

import re

from lamplighter.domain.checks.verdicts.nccl import nccl
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict, failed, not_proven
from lamplighter.domain.gpu.instance_types import GpuType

# torch.distributed: the ranks' meeting place was not reached (c10d TCPStore), or one of them never came.
_APART = re.compile(
    r"client socket has timed out|(?:DistNetworkError|DistStoreError|TCPStore).{0,300}(?:timed out|timeout)"
    r"|connect\(\) .{0,200}timed out",
    re.IGNORECASE,
)
_NCCL_SPOKE = "NCCL INFO"
_NCCL_APART = re.compile(r"connect to .{1,120} (?:returned|failed : )\s?Connection timed out")
_CUDA = re.compile(r"CUDA error: .{1,200}|ncclUnhandledCudaError.{0,200}|Found no NVIDIA driver.{0,200}")
_RAISED = re.compile(r"^(?:[\w.]*(?:Error|Exception)): .{1,200}", re.MULTILINE)


def torch_collective(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:
    """Judges a collective among `gpus` ranks on nodes of this type, both of which are known to have run."""
    found = nccl(text, exit_code, gpus, kind)
    if found.outcome is not Outcome.NOT_PROVEN or exit_code == 0:
        return found
    if cuda := _CUDA.search(text):
        return failed(f"a rank says: {cuda[0].strip()}", found.measurements)
    if path := _NCCL_APART.search(text):
        return failed(f"NCCL did not get from one node to the other: {path[0].strip()}", found.measurements)
    if _NCCL_SPOKE not in text and (apart := _APART.search(text)):
        return failed(
            f"the ranks never met ({_line(text, apart)}) and NCCL had not said a word:"
            " the path between the nodes is closed, ports 1025-65535 of the security groups first of all",
            found.measurements,
        )
    if raised := _RAISED.search(text):
        return not_proven(f"{found.reason}: {raised[0].strip()}", found.measurements)
    return found


def _line(text: str, match: re.Match[str]) -> str:
    begins = text.rfind("\n", 0, match.start()) + 1
    line = text[begins : begins + 1000].partition("\n")[0].strip()
    # torch's lines begin with a time and a file; what it says comes last.
    return line[-160:]
