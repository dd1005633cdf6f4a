"""Reads the table of nccl-tests: did all ranks take part, was every sum right, was it fast enough.

Judges rank 0's output, tagged by mpirun or not; our own torchrun check prints the same table.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from lamplighter.domain.checks.verdicts.tool_output import OutputLine, lines
from lamplighter.domain.checks.verdicts.verdict import (
    Measurement,
    Verdict,
    crashed,
    ended_badly,
    failed,
    not_proven,
    passed,
)
from lamplighter.domain.gpu.instance_types import GpuType

# nccl-tests: its own exit code for wrong data, or for less bandwidth than it was told to expect.
BAD_DATA = 7

_PLAN = re.compile(r"#\s*nThread.*\bmaxBytes:?\s+(\d{1,18})(?=\s)")
_RANK = re.compile(r"#\s+Rank\s+(\d{1,6})\s+(?:Group\s+\d+\s+)?Pid\b")
_STARTING = re.compile(r"#\s*Collective test starting\s*:\s*(\S+)")
_CONCLUDED = re.compile(r"#\s*Collective test concluded\s*:\s*(\S+)")
_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(\d{1,18})\s+(\S+)\s*")
# nccl-tests prints the figure alone, or with OK or FAILED where NCCL_TESTS_MIN_BW said what to expect.
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\b\s*(?::\s*)?\S*\s*(.*)")
# nccl-tests (common.h: NCCLCHECK, CUDACHECK, TESTCHECK, and its time-out), by whichever rank it is printed.
_BROKE = re.compile(r"Test (?:NCCL |CUDA )?failure.*|Test timeout \(.*")
# Open MPI (help-errmgr-base.txt, help-prun.txt, help-mpi-api.txt), torchrun and Slurm, where a pipe swallowed their
# exit code.
_LAUNCHER = re.compile(
    r"one or more processes exited with non-zero status|process rank \d+ .{0,160}exited on signal"
    r"|process returned a non-zero exit code|MPI_ABORT was invoked on rank|\bChildFailedError\b"
    r"|lost communication with a remote daemon|Watchdog caught collective operation timeout"
    r"|\b(?:srun|slurmstepd): error: .{1,160}"
)
_OLD_HEADER = re.compile(r"#\s+size\s+count\s+type\b(?!.*#wrong).*\berror\b")
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{0,18})?(?:e[+-]?\d{1,2})?", re.IGNORECASE)
_ROW_BEGINS = re.compile(r"\s*\d{1,18}\s+\d{1,18}\s+[a-z]\S*\s")
_ROW_CELLS = 13
_HALVES = (5, 9)
"""Where time, algbw, busbw and #wrong begin, out of place and in place."""


@dataclass(frozen=True)
class _Row:
    size: int
    busbw: Decimal | None
    """GB/s: the lower of the halves; None where neither has a figure."""
    wrong: int
    judged: bool
    """Whether at least one half was checked for wrong values."""


@dataclass
class _Found:
    """What rank 0 printed."""

    plans: list[int] = field(default_factory=list)
    """The largest size that each run announced; the evidence of two runs is that of neither."""
    ranks: set[int] = field(default_factory=set)
    starting: set[str] = field(default_factory=set)
    concluded: set[str] = field(default_factory=set)
    bounds: list[tuple[int, str]] = field(default_factory=list)
    average: str = ""
    """What nccl-tests itself thinks of the average bus bandwidth; "" where it was not asked."""
    rows: list[_Row] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    broke: str = ""


def nccl(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:
    """Judges a collective among `gpus` ranks on nodes of this type."""
    found = _read(lines(text))
    measured = _measured(found, exit_code, kind)
    if wrong := _wrong(found, exit_code, kind):
        return failed(wrong, measured)
    if missing := ended_badly(exit_code) or crashed(text) or _missing(found, gpus):
        return not_proven(missing, measured)
    return passed(
        f"{gpus} ranks, every value right, {_bandwidth(found)} GB/s at {max(found.plans)} bytes "
        f"where {kind.busbw_floor} are needed",
        measured,
    )


def _wrong(found: _Found, exit_code: int, kind: GpuType) -> str | None:  # noqa: PLR0911 -- one a rule
    """What was measured and is not as it must be."""
    if found.broke:
        return found.broke[:200]
    for row in found.rows:
        if row.wrong:
            return f"{row.wrong} wrong values at {row.size} bytes, allowed are 0"
    for count, word in found.bounds:
        if count or word != "OK":
            return f"{count} values are out of bounds, allowed are 0"
    if found.average == "FAILED":
        return "nccl-tests itself says FAILED of the average bus bandwidth"
    slow = _bandwidth(found)
    if slow is not None and slow < kind.busbw_floor and len(found.ranks) != 1:
        return f"the bus bandwidth is {slow} GB/s at the largest size, needed are {kind.busbw_floor}"
    if exit_code == BAD_DATA:
        return f"nccl-tests says that data is wrong or too slow (exit code {BAD_DATA})"
    return None


def _missing(found: _Found, gpus: int) -> str | None:  # noqa: PLR0911 -- one a rule
    """Which evidence is not there."""
    if found.unread:
        return found.unread[0]
    if len(found.plans) != 1:
        return "the output does not say once how many bytes were to be sent (maxBytes)"
    if ranks := _ranks(found, gpus):
        return ranks
    if not found.rows:
        return "there is no row of figures"
    if not _largest(found):
        return f"the row of {found.plans[0]} bytes, the largest announced, is not there"
    if _bandwidth(found) is None:
        return "the largest size has no bus bandwidth"
    unchecked = [row.size for row in found.rows if not row.judged]
    if unchecked:
        return f"the values of {unchecked[0]} bytes were not checked (#wrong is N/A)"
    if not found.bounds:
        return "the line that counts values out of bounds is not there"
    if found.starting != found.concluded:
        return "the test says that it started and not that it concluded"
    return None


def _ranks(found: _Found, gpus: int) -> str | None:
    """What is wrong with who took part; None where all ranks did, and they are several."""
    if len(found.ranks) != gpus or max(found.ranks) != gpus - 1:
        return f"{len(found.ranks)} ranks took part where {gpus} were expected"
    return "one rank has no bus: nothing was sent to another" if gpus == 1 else None


def _largest(found: _Found) -> list[_Row]:
    return [row for row in found.rows if set(found.plans) == {row.size}]


def _bandwidth(found: _Found) -> Decimal | None:
    """GB/s at the largest announced size; None where there is no figure."""
    return min((row.busbw for row in _largest(found) if row.busbw is not None), default=None)


def _read(printed: Iterable[OutputLine]) -> _Found:
    found = _Found()
    for text, ended, rank in printed:
        if "Test " in text and (broke := _BROKE.search(text)):
            found.broke = found.broke or broke[0]
        if launcher := _LAUNCHER.search(text):
            found.unread.append(f"the launcher says that a rank ended badly: {launcher[0][:160]}")
        # Other ranks print nothing of the table; where each prints its own, they were no one job.
        if rank:
            continue
        stripped = text.strip()
        if stripped.startswith("#"):
            _remark(stripped, found, ended=ended)
        elif stripped[:1].isdecimal() and _ROW_BEGINS.match(text):
            _row(stripped.split(), found)
    return found


def _remark(text: str, found: _Found, *, ended: bool) -> None:
    if match := _PLAN.match(text + " " * ended):
        found.plans.append(int(match[1]))
    elif match := _RANK.match(text):
        found.ranks.add(int(match[1]))
    elif match := _STARTING.fullmatch(text):
        found.starting.add(match[1])
    elif match := _CONCLUDED.fullmatch(text):
        found.concluded.add(match[1])
    elif _OLD_HEADER.match(text):
        found.unread.append(
            "this version of nccl-tests prints an error figure and does not count wrong values"
        )
    elif match := _AVERAGE.match(text):
        _average(match[1] or "", found)
    elif (match := _BOUNDS.fullmatch(text)) and (ended or match[2] == "FAILED"):
        found.bounds.append((int(match[1]), match[2]))


def _average(said: str, found: _Found) -> None:
    word = next(iter(said.split()), "")
    found.average = word if found.average != "FAILED" else found.average
    # Another rank's text may run into the line: what it hides is not taken for nothing.
    if said.strip() not in {"", "OK", "FAILED"}:
        found.unread.append(f"nccl-tests says '{said[:40]}' of the average bus bandwidth")


def _row(cells: list[str], found: _Found) -> None:
    size = int(cells[0])
    if len(cells) != _ROW_CELLS:
        found.unread.append(f"the row of {size} bytes has {len(cells)} figures where {_ROW_CELLS} belong")
        return
    halves = [half for start in _HALVES if (half := _half(cells[start : start + 4]))]
    if len(halves) < len(_HALVES):
        found.unread.append(f"the row of {size} bytes has a figure that cannot be read")
        return
    found.rows.append(
        _Row(
            size=size,
            busbw=min((busbw for busbw, _ in halves if busbw is not None), default=None),
            wrong=sum(wrong for _, wrong in halves if wrong is not None),
            judged=any(wrong is not None for _, wrong in halves),
        )
    )


def _half(cells: list[str]) -> tuple[Decimal | None, int | None] | None:
    """(bus bandwidth, wrong values), None each for N/A; None altogether for what is no figure."""
    if any(cell != "N/A" and not _NUMBER.fullmatch(cell) for cell in cells):
        return None
    busbw, wrong = cells[2], cells[3]
    figure = None if busbw == "N/A" else Decimal(busbw)
    count = None if wrong == "N/A" else math.ceil(Decimal(wrong))
    return figure, count


def _measured(found: _Found, exit_code: int, kind: GpuType) -> dict[str, Measurement]:
    bandwidth = _bandwidth(found)
    return {
        "exit_code": exit_code,
        "ranks": len(found.ranks),
        "max_bytes": max(found.plans, default=None),
        "rows": len(found.rows),
        "busbw_gb_per_second": None if bandwidth is None else str(bandwidth),
        "floor_gb_per_second": str(kind.busbw_floor),
    }
