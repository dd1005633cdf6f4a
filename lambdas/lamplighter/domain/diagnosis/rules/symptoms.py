"""The texts that NVIDIA's software and the container runtime print when something is broken, by cause.

Owns the texts. The rules decide whose text counts, and when.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

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
# Not SXid, which is a number of an NVSwitch.
_XID = re.compile(r"XidCriticalError: Xid=(\d{1,4})|\bXid \(PCI:[^)\s]{1,40}\): (\d{1,4})")
_CONDITION_XID = re.compile(r"NvidiaXID(\d{1,4})(?:Error|Warning)?")
_KLOG = re.compile(r"[IWEF](\d{2})(\d{2}) (\d{2}):(\d{2}):(\d{2})")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)?")


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
            for line in _lines(printed, pattern, now, since):
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
            begin, end = _around(printed, place, place)
            lines.add((begin, end))
            place = low.find(word, end)
    return "\n".join(printed[begin:end] for begin, end in sorted(lines))


def lost(log: str, now: datetime, since: datetime) -> str | None:
    """The line by which a pod reports that it lost its GPU."""
    return next(iter(_lines(log, _LOST, now, since)), None)


def xids(log: str, now: datetime, since: datetime) -> Iterator[tuple[int, str]]:
    """XIDs in a log, with their lines."""
    if "Xid" not in log:
        return
    for line in _lines(log, _XID, now, since):
        for match in _XID.finditer(line):
            yield int(match[1] or match[2]), line


def condition_xid(code: str) -> int | None:
    """The XID that the `reason` of a node condition or event names."""
    match = _CONDITION_XID.search(code)
    return int(match[1]) if match else None


def _lines(printed: str, pattern: re.Pattern[str], now: datetime, since: datetime) -> Iterator[str]:
    """Lines in which the pattern occurs, except those whose time stamp is before `since`."""
    at = 0
    while match := pattern.search(printed, at):
        begin, end = _around(printed, match.start(), match.end())
        line = printed[begin:end].strip()
        stamp = _stamped(line, now)
        if stamp is None or stamp >= since:
            yield line
        at = end


def _around(printed: str, first: int, last: int) -> tuple[int, int]:
    """Where the line or lines that contain these positions begin and end."""
    end = printed.find("\n", last)
    return printed.rfind("\n", 0, first) + 1, len(printed) if end == -1 else end


def _stamped(line: str, now: datetime) -> datetime | None:
    """The time stamp of a line, in klog's form (no year, UTC) or RFC 3339; None where it has none."""
    if match := _STAMP.match(line):
        try:
            return datetime.fromisoformat(match[1] + (match[2] or "Z")).astimezone(UTC)
        except (ValueError, OverflowError):
            return None
    match = _KLOG.match(line)
    if not match:
        return None
    month, day, hour, minute, second = (int(part) for part in match.groups())
    try:
        read = datetime(now.year, month, day, hour, minute, second, tzinfo=UTC)
        # In January, a line of December is from the year before.
        return read.replace(year=now.year - 1) if read - now > timedelta(days=1) else read
    except ValueError:
        return None
