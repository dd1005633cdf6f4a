"""How long each parser of a GPU tool's output takes over 10 MB of log."""

import json
from collections.abc import Mapping

from lamplighter.domain.checks.verdicts.of import PARSERS, verdict_of
from tests import gpu_outputs as said
from tests.bench.figure import Measurement, best_of

BYTES = 10_000_000
_INFO = (
    "[1,1]<stdout>: worker-1:4242:4242 [0] NCCL INFO Channel 00/02 : 0[0] -> 1[0] [send] via NET/Socket/0\n"
)
#: Lines that each tool really prints in quantity, and beginnings of what each parser looks for.
FILLERS: Mapping[str, tuple[str, ...]] = {
    "nvidia-smi": (said.smi_row() + "\n", "name\n", "a, b\n", "[1,0]<stdout>:"),
    "dcgm": ("{ ", '{"DCGM Diagnostic": ', json.dumps(said.dcgm_result(0)) + ",\n"),
    "nccl": (_INFO, said.nccl_row(1048576) + "\n", "1 2 f ", "# nThread maxBytes 1 ", "\r"),
}


def text_of(filler: str) -> bytes:
    """10 MB of it."""
    return (filler * (BYTES // len(filler))).encode()


def _slowest(check: str) -> float:
    def judge(raw: bytes) -> float:
        return best_of(lambda: verdict_of(check, "g5.xlarge", 1, 0, raw), times=2)

    return max(judge(text_of(filler)) for filler in FILLERS[check])


def _take() -> Mapping[str, float]:
    return {f"parse-{check}": _slowest(check) for check in PARSERS}


MEASUREMENTS = (Measurement({f"parse-{check}": "s" for check in PARSERS}, _take),)
