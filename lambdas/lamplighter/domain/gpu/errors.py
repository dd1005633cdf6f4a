"""What to do about an error that a GPU reports: NVIDIA's table of Xid numbers, and AWS's and DCGM's names for faults.

data/gpu/errors.json has the table with its sources. Diagnosis and the checks judge by it. Pure.
"""

import json
from collections.abc import Iterable
from datetime import timedelta
from enum import IntEnum
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

RECOVERY = 154
"""The Xid that sums up others: its text has NVIDIA's own advice."""
NVLINK = 74
"""The Xid of an NVLink. An SXid beside it says that an NVSwitch is the root."""
#: AWS's agent never takes a condition back (eks-node-monitoring-agent issues 266 and 275): an old one may be over.
STICKY = timedelta(hours=1)
_HEALTH_CODE = "DCGMHealthCode"
_MOST_DIGITS = 4
_MONITORING = "monitoring"


class GpuAction(IntEnum):
    """What NVIDIA says to do, the most urgent last."""

    APPLICATION = 0
    """Nothing about the GPU: a program made a mistake."""
    WATCH = 1
    RESET = 2
    REBOOT = 3
    ISOLATE = 4

    @property
    def word(self) -> str:
        return self.name.lower()

    @property
    def fatal(self) -> bool:
        """Whether the GPU cannot be used before something is done."""
        return self >= GpuAction.RESET


class XidReport(NamedTuple):
    """An Xid in a line of a log; `action` is None where NVIDIA's table does not have it."""

    number: int
    line: str
    action: GpuAction | None


def xid_action(number: int, instance_type: str = "") -> GpuAction | None:
    """What the table says of an Xid; None where it does not have it."""
    if number in _table()["reboot_on"].get(instance_type.partition(".")[0], ()):
        return GpuAction.REBOOT
    return _by_number("xid").get(number)


def agent_action(code: str, instance_type: str = "", xid: int | None = None) -> GpuAction | None:
    """What to do about a condition of AWS's node monitoring agent, by its reason; None where the table lacks it."""
    if xid is not None:
        return xid_action(xid, instance_type)
    number = code.removeprefix(_HEALTH_CODE)
    if number != code and number.isdecimal() and len(number) <= _MOST_DIGITS:
        return _by_number("dcgm").get(int(number))
    word = _table()["agent"].get(code)
    return GpuAction[word.upper()] if word else None


def of_monitoring(code: str) -> bool:
    """Whether the reason is a fault of the monitoring itself, which says nothing of the GPU."""
    return code in _table()[_MONITORING]


def reports(lines: Iterable[tuple[int, str]], instance_type: str = "") -> list[XidReport]:
    """Each Xid with its line and action. Xid 154 sums up what the same GPU reported before it: its advice decides.

    Its advice "None" says that the GPU recovered: what came before is history.
    """
    by_gpu: dict[str, list[XidReport]] = {}
    for number, line in lines:
        gpu = line.partition("(PCI:")[2].partition(")")[0]
        known = by_gpu.setdefault(gpu, [])
        if number != RECOVERY:
            known.append(XidReport(number, line, _line_action(number, line, instance_type)))
            continue
        word = _recovery(line)
        if word == "none":
            known.clear()
            continue
        action = GpuAction[word.upper()] if word else None
        if action is not None:
            known[:] = [before._replace(action=action) for before in known]
        known.append(XidReport(number, line, action))
    return [report for known in by_gpu.values() for report in known]


def _line_action(number: int, line: str, instance_type: str) -> GpuAction | None:
    """The action of an Xid; of NVLink 5's, which are fatal or not, the line says so: `145, RLW_REMAP Fatal XC0`."""
    if number in _table()["fatal_line"] and " Fatal " in line:
        return GpuAction.RESET
    return xid_action(number, instance_type)


def _recovery(line: str) -> str:
    """The advice of Xid 154: `... changed from 0x0 (None) to 0x1 (GPU Reset Required)`; "" where it has none."""
    words = line.rpartition(" to ")[2].partition("(")[2].partition(")")[0]
    return str(_table()["recovery"].get(words.strip().lower(), ""))


@cache
def _by_number(kind: str) -> dict[int, GpuAction]:
    return {number: GpuAction[word.upper()] for word, numbers in _table()[kind].items() for number in numbers}


@cache
def _table() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        files("lamplighter.data.gpu").joinpath("errors.json").read_text("utf-8")
    )
    return document
