"""Judges the table of nccl-tests: did all ranks take part, is every value right, is the bandwidth high enough.

Reads the output of rank 0, with mpirun's tags or without. Our own torchrun check prints the same table.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from lamplighter.domain.checks.verdicts.tool_output import OutputLine, lines
from lamplighter.domain.checks.verdicts.transport import Transport, transport_of
from lamplighter.domain.checks.verdicts.verdict import (
    Measurement,
    Verdict,
    crashed,
    ended_badly,
    failed,
    not_proven,
    passed,
    tool_says,
)
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.reasons.reason import Reason, Said, Sentences, reason

PUBLISHED_FROM = 256 * 1024**2
"""Bytes: the published figures are of large sizes, and a healthy machine is slower at smaller ones."""
# nccl-tests ends with this exit code where data is wrong, or the bandwidth is below the one it was told to expect.
BAD_DATA = 7
_TOOL = "nccl-tests"

_PLAN = re.compile(r"#\s*nThread.*\bmaxBytes:?\s+(\d{1,18})(?=\s)")
_RANK = re.compile(r"#\s+Rank\s+(\d{1,6})\s+(?:Group\s+\d+\s+)?Pid\b(?:\s+\d+\s+on\s+(\S+))?")
_STARTING = re.compile(r"#\s*Collective test starting\s*:\s*(\S+)")
_CONCLUDED = re.compile(r"#\s*Collective test concluded\s*:\s*(\S+)")
_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(\d{1,18})\s+(\S+)\s*")
# nccl-tests adds OK or FAILED to the figure where NCCL_TESTS_MIN_BW says what to expect.
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\b\s*(?::\s*)?\S*\s*(.*)")
# Any rank may print these: nccl-tests, common.h: NCCLCHECK, CUDACHECK, TESTCHECK, and its time-out.
_BROKE = re.compile(r"Test (?:NCCL |CUDA )?failure.*|Test timeout \(.*")
# Open MPI (help-errmgr-base.txt, help-prun.txt, help-mpi-api.txt), torchrun and Slurm print these. They matter where
# a pipe hid the exit code.
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
"""The first column of time, algbw, busbw and #wrong: out of place, and in place."""


@dataclass(frozen=True)
class _Row:
    size: int
    busbw: Decimal | None
    """GB/s: the lower of the halves; None where neither has a figure."""
    wrong: int
    reduces: bool
    """Whether the operation adds values up; all_gather and others only move them."""
    checked: bool
    """Whether nccl-tests checked the values of at least one half."""


@dataclass
class _Printed:
    """What rank 0 printed."""

    plans: list[int] = field(default_factory=list)
    """The largest size that each run announced; the output of two runs proves neither."""
    ranks: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    transports: set[Transport] = field(default_factory=set)
    starting: set[str] = field(default_factory=set)
    concluded: set[str] = field(default_factory=set)
    bounds: list[tuple[int, str]] = field(default_factory=list)
    average: str = ""
    """The word of nccl-tests about the average bus bandwidth; "" where it has none."""
    rows: list[_Row] = field(default_factory=list)
    unread: list[Said] = field(default_factory=list)
    broke: str = ""
    """The first failure that any rank printed."""


def nccl(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:
    """Judges a collective of `gpus` ranks on nodes of this type."""
    printed = _read(lines(text))
    measurements = _measurements(printed, exit_code, kind)
    if fault := _fault(printed, exit_code, kind):
        return failed(fault, measurements)
    if missing := ended_badly(exit_code) or crashed(text) or _missing(printed, gpus):
        return not_proven(missing, measurements)
    why = reason(
        "check.nccl.passed",
        ranks=gpus,
        bandwidth=str(_bandwidth(printed)),
        bytes=max(printed.plans),
        floor=str(_floor(printed, kind)),
    )
    if unproven := _network_unproven(printed, kind):
        return not_proven(Sentences((unproven, why)), measurements)
    seen = _transport(printed)
    over: list[Said] = [reason("check.nccl.transport", transport=seen.value)] if seen else []
    if seen is Transport.EFA and _published(printed, kind) is None:
        over.append(reason("check.nccl.no-floor", ranks=gpus))
    if len(printed.hosts) == 1 and kind.published_floor(1, gpus) is None:
        over.append(reason("check.nccl.no-floor-within", ranks=gpus))
    return passed(Sentences((why, *over)) if over else why, measurements)


def _transport(printed: _Printed) -> Transport | None:
    """The network between the nodes: TCP where any rank says so; None where none does, or within one node."""
    if len(printed.hosts) == 1:
        return None
    return Transport.TCP if Transport.TCP in printed.transports else next(iter(printed.transports), None)


def _floor(printed: _Printed, kind: GpuType) -> Decimal:
    """GB/s that are needed: a published figure of this many nodes and ranks, unless they talk over TCP."""
    published = _published(printed, kind)
    over_tcp = len(printed.hosts) > 1 and (_transport(printed) is Transport.TCP or kind.tcp_most is None)
    return kind.busbw_floor if published is None or over_tcp else published


def _published(printed: _Printed, kind: GpuType) -> Decimal | None:
    """The published floor of an all_reduce of large sizes; None of what is not published.

    Between two nodes its trees reach more than the network has (NVIDIA/nccl-tests issue 22): no other operation does.
    """
    nodes = len(printed.hosts)
    all_reduce = all(row.reduces for row in printed.rows) and all(
        "all_reduce" in each for each in printed.starting
    )
    if max(printed.plans, default=0) < PUBLISHED_FROM or (nodes > 1 and not all_reduce):
        return None
    return kind.published_floor(nodes, len(printed.ranks))


def _network_unproven(printed: _Printed, kind: GpuType) -> Reason | None:
    """Why a type with EFA has not shown it; None where it has, or where nothing went from node to node."""
    if kind.tcp_most is None or (len(printed.hosts) == 1 and len(printed.ranks) <= kind.count):
        return None
    match _transport(printed):
        case Transport.TCP:
            return reason("check.nccl.over-tcp", type=kind.instance_type)
        case None if (_bandwidth(printed) or 0) <= kind.tcp_most:
            return reason("check.nccl.transport-unseen", type=kind.instance_type)
        case _:
            return None


def _fault(printed: _Printed, exit_code: int, kind: GpuType) -> Said | None:  # noqa: PLR0911 -- one a rule
    """What was measured and is wrong; None where nothing is."""
    if printed.broke:
        return tool_says(_TOOL, printed.broke)
    for row in printed.rows:
        if row.wrong:
            return reason("check.nccl.wrong-values", wrong=row.wrong, bytes=row.size)
    for count, word in printed.bounds:
        if count or word != "OK":
            return reason("check.nccl.out-of-bounds", count=count)
    if printed.average == "FAILED":
        return reason("check.nccl.average-failed")
    bandwidth = _bandwidth(printed)
    floor = _floor(printed, kind)
    if bandwidth is not None and bandwidth < floor and len(printed.ranks) != 1:
        return reason("check.nccl.slow", bandwidth=str(bandwidth), floor=str(floor))
    if exit_code == BAD_DATA:
        return reason("check.nccl.bad-data", code=BAD_DATA)
    return None


def _missing(printed: _Printed, gpus: int) -> Said | None:  # noqa: PLR0911 -- one a rule
    """Which evidence is missing; None where all is there."""
    if printed.unread:
        return printed.unread[0]
    if len(printed.plans) != 1:
        return reason("check.nccl.no-plan")
    if ranks := _missing_ranks(printed, gpus):
        return ranks
    if not printed.rows:
        return reason("check.nccl.no-rows")
    if not _largest(printed):
        return reason("check.nccl.no-largest", bytes=printed.plans[0])
    if _bandwidth(printed) is None:
        return reason("check.nccl.no-bandwidth")
    unchecked = [row.size for row in printed.rows if not row.checked]
    if unchecked:
        return reason("check.nccl.unchecked", bytes=unchecked[0])
    if not printed.bounds:
        return reason("check.nccl.no-bounds")
    if printed.starting != printed.concluded:
        return reason("check.nccl.not-concluded")
    return None


def _missing_ranks(printed: _Printed, gpus: int) -> Reason | None:
    """Why the ranks prove nothing; None where all ranks took part, and they are several."""
    if len(printed.ranks) != gpus or max(printed.ranks) != gpus - 1:
        return reason("check.nccl.ranks", ranks=len(printed.ranks), expected=gpus)
    return reason("check.nccl.one-rank") if gpus == 1 else None


def _largest(printed: _Printed) -> list[_Row]:
    return [row for row in printed.rows if set(printed.plans) == {row.size}]


def _bandwidth(printed: _Printed) -> Decimal | None:
    """GB/s at the largest announced size; None where there is no figure."""
    return min((row.busbw for row in _largest(printed) if row.busbw is not None), default=None)


def _read(output: Iterable[OutputLine]) -> _Printed:
    printed = _Printed()
    for text, ended, rank in output:
        if "Test " in text and (broke := _BROKE.search(text)):
            printed.broke = printed.broke or broke[0]
        if launcher := _LAUNCHER.search(text):
            printed.unread.append(reason("check.nccl.launcher", words=launcher[0][:160]))
        if network := transport_of(text):
            printed.transports.add(network)
        # Only rank 0 prints the table. Where each rank prints one, they were not one job.
        if rank:
            continue
        stripped = text.strip()
        if stripped.startswith("#"):
            _comment(stripped, printed, ended=ended)
        elif stripped[:1].isdecimal() and _ROW_BEGINS.match(text):
            _row(stripped.split(), printed)
    return printed


def _comment(text: str, printed: _Printed, *, ended: bool) -> None:
    if match := _PLAN.match(text + " " * ended):
        printed.plans.append(int(match[1]))
    elif match := _RANK.match(text):
        printed.ranks.add(int(match[1]))
        printed.hosts |= {match[2]} - {None}
    elif match := _STARTING.fullmatch(text):
        printed.starting.add(match[1])
    elif match := _CONCLUDED.fullmatch(text):
        printed.concluded.add(match[1])
    elif _OLD_HEADER.match(text):
        printed.unread.append(reason("check.nccl.old-version"))
    elif match := _AVERAGE.match(text):
        _average(match[1] or "", printed)
    elif (match := _BOUNDS.fullmatch(text)) and (ended or match[2] == "FAILED"):
        printed.bounds.append((int(match[1]), match[2]))


def _average(words: str, printed: _Printed) -> None:
    word = next(iter(words.split()), "")
    printed.average = word if printed.average != "FAILED" else printed.average
    # Another rank's text may run into the line and hide the word.
    if words.strip() not in {"", "OK", "FAILED"}:
        printed.unread.append(reason("check.nccl.average-unread", words=words[:40]))


def _row(cells: list[str], printed: _Printed) -> None:
    size = int(cells[0])
    if len(cells) != _ROW_CELLS:
        other = reason("check.nccl.row-cells", bytes=size, figures=len(cells), expected=_ROW_CELLS)
        printed.unread.append(other)
        return
    halves = [half for start in _HALVES if (half := _half(cells[start : start + 4]))]
    if len(halves) < len(_HALVES):
        printed.unread.append(reason("check.nccl.row-unread", bytes=size))
        return
    printed.rows.append(
        _Row(
            size=size,
            busbw=min((busbw for busbw, _ in halves if busbw is not None), default=None),
            wrong=sum(wrong for _, wrong in halves if wrong is not None),
            reduces=cells[3] != "none",
            checked=any(wrong is not None for _, wrong in halves),
        )
    )


def _half(cells: list[str]) -> tuple[Decimal | None, int | None] | None:
    """(bus bandwidth, wrong values), None each for N/A; None altogether where a cell is no figure."""
    if any(cell != "N/A" and not _NUMBER.fullmatch(cell) for cell in cells):
        return None
    busbw, wrong = cells[2], cells[3]
    figure = None if busbw == "N/A" else Decimal(busbw)
    count = None if wrong == "N/A" else math.ceil(Decimal(wrong))
    return figure, count


def _measurements(printed: _Printed, exit_code: int, kind: GpuType) -> dict[str, Measurement]:
    bandwidth = _bandwidth(printed)
    return {
        "exit_code": exit_code,
        "ranks": len(printed.ranks),
        "max_bytes": max(printed.plans, default=None),
        "rows": len(printed.rows),
        "busbw_gb_per_second": None if bandwidth is None else str(bandwidth),
        "floor_gb_per_second": str(_floor(printed, kind)),
        **({"transport": network.value} if (network := _transport(printed)) else {}),
    }
