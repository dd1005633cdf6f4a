"""The texts that NVIDIA's software and the container runtime print when something is broken, by cause.

Owns the texts. The rules decide whose text counts, and when.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.gpu.xid_log import around, log_lines

NVML_MISSING = "nvml-missing"
"""Not a cause yet: on an image without the driver it becomes wrong-ami, else runtime-missing."""

# Root first: where a text shows several causes, the first one counts. CUDA's texts are its runtime API's error texts.
_SYMPTOMS = (
    (
        "driver-mismatch",
        re.compile(r"driver/library version mismatch|ERROR_LIB_RM_VERSION_MISMATCH", re.IGNORECASE),
    ),
    (
        "xid",
        # 214 and 220; NVML_ERROR_RESET_REQUIRED, which only a fatal error leaves behind.
        re.compile(r"uncorrectable (?:ECC|NVLink) error|GPU requires reset", re.IGNORECASE),
    ),
    ("gpu-lost", re.compile(r"\bGPU is lost\b|ERROR_GPU_IS_LOST|GPU has fallen off the bus", re.IGNORECASE)),
    (
        "driver-broken",
        # The last is 802: the fabric of several GPUs was not set up (awslabs/amazon-eks-ami issue 2554).
        re.compile(
            r"couldn.?t communicate with the NVIDIA driver|driver[ _]not[ _]loaded|system not yet initialized",
            re.IGNORECASE,
        ),
    ),
    (
        "driver-too-old",
        # 35, 222, 804; PyTorch's words for 35.
        re.compile(
            r"unsatisfied condition: (?:cuda|driver)|please update your driver|CUDA driver version is insufficient"
            r"|compiled with an unsupported toolchain|forward compatibility was attempted on non supported HW"
            r"|NVIDIA driver on your system is too old",
            re.IGNORECASE,
        ),
    ),
    (
        NVML_MISSING,
        # The name of the library alone says nothing: logs list it where it was found, too.
        re.compile(
            r"could not load NVML|nvml\S* .{0,40}ERROR_LIBRARY_NOT_FOUND|NVML Shared Library Not Found"
            r"|(?:libnvidia-ml|libcuda)\.so[.\d]*\b.{0,24}(?:cannot open|no such file|not found|missing)"
            r"|couldn.?t find libnvidia-ml"
            r"|Incompatible (?:platform|strategy) detected|Found no NVIDIA driver on your system"
            # The runtime puts nvidia-smi into every container. Where it is missing, the runtime was not used.
            r"|nvidia-smi\W{1,3}(?:command not found|not found|executable file not found|no such file)",
            re.IGNORECASE,
        ),
    ),
    (
        "runtime-missing",
        re.compile(
            r"no runtime for \W*nvidia\W* is configured|RuntimeClass \W*nvidia\W* not found"
            r"|nvidia-container-(?:runtime|cli)[\w.-]*\W{1,3}(?:executable file not found|no such file or directory)",
            re.IGNORECASE,
        ),
    ),
    (
        "driver-broken",
        # libnvidia-container asks the driver first: a failure there is a fault of the node, not of the container.
        re.compile(r"nvidia-container-cli: (?:initialization|detection) error", re.IGNORECASE),
    ),
    (
        "cdi-unresolvable",
        # The second text is the same error in the runtime's older mode, without CDI.
        re.compile(
            r"unresolvable CDI devices|nvidia-container-cli: device error: .{0,80}unknown device",
            re.IGNORECASE,
        ),
    ),
    # The kernel about a program for another processor (execve's ENOEXEC).
    ("wrong-instance-type", re.compile(r"exec format error", re.IGNORECASE)),
    (
        "no-addresses",
        re.compile(r"failed to assign an IP address to container|InsufficientCidrBlocks", re.IGNORECASE),
    ),
)
# Each of the texts above has one of these words in it. Most log lines have none, and searching a word is fast.
_WORDS = (
    "driver/library",
    "gpu is lost",
    "gpu_is_lost",
    "fallen off",
    "not yet initialized",
    "uncorrectable",
    "requires reset",
    "communicate with",
    "not loaded",
    "not_loaded",
    "version_mismatch",
    "unsatisfied condition",
    "update your driver",
    "version is insufficient",
    "unsupported toolchain",
    "non supported hw",
    "system is too old",
    "no nvidia driver",
    "nvml",
    "libnvidia-ml",
    "libcuda",
    "incompatible ",
    "nvidia-smi",
    "no runtime for",
    "runtimeclass",
    "nvidia-container-",
    "unresolvable",
    "assign an ip",
    "exec format",
    "cidrblocks",
)
_LOST = re.compile(r"Failed to initialize NVML: Unknown Error|GPU is lost|fallen off the bus", re.IGNORECASE)


@dataclass(frozen=True)
class Symptom:
    """A line that shows a cause."""

    cause: str
    line: str


def symptom(texts: Iterable[str], now: datetime, since: datetime) -> Symptom | None:
    """The most fundamental cause that any of the texts shows since then; None where none does."""
    candidates = [lines for printed in texts if (lines := _candidate_lines(printed))]
    for cause, pattern in _SYMPTOMS:
        for printed in candidates:
            for line in log_lines(printed, pattern, now, since):
                return Symptom(cause, line)
    return None


def _candidate_lines(printed: str) -> str:
    """The lines that may show a symptom. Most lines of a log do not."""
    low = printed.lower()
    if len(low) != len(printed):
        # A letter became two in lower case, so that positions in the two texts differ.
        return printed
    lines: set[tuple[int, int]] = set()
    for word in _WORDS:
        place = low.find(word)
        while place >= 0:
            begin, end = around(printed, place, place)
            lines.add((begin, end))
            place = low.find(word, end)
    return "\n".join(printed[begin:end] for begin, end in sorted(lines))


def lost(log: str, now: datetime, since: datetime) -> str | None:
    """The line by which a pod reports that it lost its GPU."""
    return next(iter(log_lines(log, _LOST, now, since)), None)
