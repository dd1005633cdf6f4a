"""Judges `nvidia-smi nvlink --status`: is every NVLink of every GPU up, and as fast as the type's links are.

A link that nvidia-smi calls inactive, or that is slow, fails. A link or a GPU that is not listed is not proven: the
output may be cut.
"""

import re
from typing import NamedTuple

from lamplighter.domain.checks.verdicts.nvidia_smi import BROKEN
from lamplighter.domain.checks.verdicts.tool_output import lines
from lamplighter.domain.checks.verdicts.verdict import (
    QUOTED,
    Measurement,
    Verdict,
    crashed,
    ended_badly,
    failed,
    not_proven,
    passed,
    too_many_gpus,
    tool_says,
)
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.reasons.reason import Reason, reason, several

_GPU = re.compile(r"GPU (\d{1,3}): [^(]{1,80}(?:\(UUID: GPU-[0-9a-fA-F-]{36}\))?(.*)")
_LINK = re.compile(r"\s+Link (\d{1,3}): (?:(<inactive>)|(\d{1,4}(?:\.\d{1,6})?) GB/s)\s*")
# github.com/NVIDIA/open-gpu-kernel-modules issue 1150
_NONE_UP = re.compile(r"all links are inactive", re.IGNORECASE)


class _Printed(NamedTuple):
    """The GB/s by link by GPU, GPUs without any link that is up, and the first line that cannot be judged."""

    speeds: dict[str, dict[str, float]]
    none_up: tuple[str, ...]
    strange: str


def nvlink(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:
    """Judges the links of `gpus` GPUs of one node of this type."""
    if broken := BROKEN.search(text):
        return failed(tool_says("nvidia-smi", broken[0]), {"exit_code": exit_code})
    printed = _read(text)
    speeds = [speed for links in printed.speeds.values() for speed in links.values()]
    measurements: dict[str, Measurement] = {
        "exit_code": exit_code,
        "gpus": len(printed.speeds),
        "links": len(speeds),
        "slowest_gb_per_second": str(min(speeds, default=0)),
        "floor_gb_per_second": str(kind.nvlink_floor),
    }
    down: list[Reason] = [reason("check.nvlink.none", gpu=gpu) for gpu in printed.none_up]
    for gpu, links in printed.speeds.items():
        down += _slow(gpu, links, kind)
    if down:
        return failed(several(down), measurements)
    why = ended_badly(exit_code) or crashed(text) or _unproven(printed, gpus, kind)
    if why:
        return not_proven(why, measurements)
    return passed(reason("check.nvlink.passed", links=kind.nvlinks, gpus=gpus), measurements)


def _unproven(printed: _Printed, gpus: int, kind: GpuType) -> Reason | None:
    """Why what is listed without fault proves nothing; None where every link is listed."""
    if gpus > kind.count:
        return too_many_gpus(gpus, kind.instance_type, kind.count)
    if printed.strange:
        return reason("check.nvlink.unread", line=printed.strange.strip()[:QUOTED])
    counts = [len(links) for links in printed.speeds.values()]
    if counts == [kind.nvlinks] * gpus and kind.nvlinks:
        return None
    return reason("check.nvlink.listed", listed=sum(counts), expected=gpus * kind.nvlinks)


def _read(text: str) -> _Printed:
    speeds: dict[str, dict[str, float]] = {}
    none_up, strange, gpu = [], [], ""
    for line in lines(text):
        header, link = _GPU.fullmatch(line.text), _LINK.fullmatch(line.text)
        new = header is not None and header[1] not in speeds
        if header and new:
            gpu = header[1]
            speeds[gpu] = {}
        if _NONE_UP.search(line.text):
            none_up.append(gpu)
        elif link and gpu and link[1] not in speeds[gpu]:
            speeds[gpu][link[1]] = float(link[3] or 0)
        elif line.text.strip() and not new:
            strange.append(line.text)
    return _Printed(speeds, tuple(none_up), strange[0] if strange else "")


def _slow(gpu: str, speeds: dict[str, float], kind: GpuType) -> list[Reason]:
    """The links of a GPU that are down, and those that are too slow."""
    inactive = tuple(link for link, speed in speeds.items() if not speed)
    slow = {link: speed for link, speed in speeds.items() if 0 < speed < kind.nvlink_floor}
    found = [reason("check.nvlink.inactive", gpu=gpu, links=", ".join(inactive))] if inactive else []
    if slow:
        least, links = str(min(slow.values())), ", ".join(slow)
        found.append(
            reason("check.nvlink.slow", gpu=gpu, links=links, speed=least, floor=str(kind.nvlink_floor))
        )
    return found
