"""Judges our torchrun check: by the table of nccl-tests, or by PyTorch's errors where there is no table.

nccl.py reads the table. Without a table, ranks that never met are a failure of the network between their nodes, and
a CUDA error is a failure of a GPU. Everything else is not proven.
"""

import re

from lamplighter.domain.checks.verdicts.nccl import nccl
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict, failed, not_proven
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.reasons.reason import reason

# torch.distributed: a rank did not reach the rendezvous (c10d TCPStore), or another rank never came.
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
    """Judges a collective of `gpus` ranks on nodes of this type; both ranks are known to have run."""
    verdict = nccl(text, exit_code, gpus, kind)
    if verdict.outcome is not Outcome.NOT_PROVEN or exit_code == 0:
        return verdict
    if cuda := _CUDA.search(text):
        return failed(reason("check.torch.cuda-error", words=cuda[0].strip()), verdict.measurements)
    if path := _NCCL_APART.search(text):
        return failed(reason("check.torch.no-path", words=path[0].strip()), verdict.measurements)
    if _NCCL_SPOKE not in text and (apart := _APART.search(text)):
        return failed(reason("check.torch.never-met", words=_line(text, apart)), verdict.measurements)
    if raised := _RAISED.search(text):
        why = reason("check.torch.raised", why=verdict.reason, words=raised[0].strip())
        return not_proven(why, verdict.measurements)
    return verdict


def _line(text: str, match: re.Match[str]) -> str:
    begins = text.rfind("\n", 0, match.start()) + 1
    line = text[begins : begins + 1000].partition("\n")[0].strip()
    # A line of torch begins with a time and a file; its message is at the end.
    return line[-160:]
