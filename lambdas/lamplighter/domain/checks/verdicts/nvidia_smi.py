"""Judges nvidia-smi's CSV: are all GPUs there, of the right model, and without fault.

It judges every row and column that it gets. A column that was left out is listed as not judged. A value that cannot
be read makes the verdict not proven.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamplighter.domain.checks.verdicts.tool_output import OutputLine, lines
from lamplighter.domain.checks.verdicts.verdict import (
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
from lamplighter.domain.gpu.instance_types import GpuType, known_names
from lamplighter.reasons.reason import Reason, reason, several

NAME, DRIVER, UUID = "name", "driver_version", "uuid"
ECC = "ecc.errors.uncorrected.volatile.total"
REMAP = "remapped_rows.pending"
REMAP_FAILED = "remapped_rows.failure"
EVENTS = "clocks_event_reasons.active"
STATE, STATUS = "fabric.state", "fabric.status"
COLUMNS = (NAME, DRIVER, UUID, ECC, REMAP, REMAP_FAILED, EVENTS)
PRESENCE = (NAME, DRIVER, UUID)
"""The columns that show whether each GPU is there and of the right model."""
FABRIC = (NAME, STATE, STATUS)
"""The columns that show whether Fabric Manager has set up the NVSwitches."""
HEALTH = (NAME, UUID, ECC, REMAP, REMAP_FAILED, EVENTS)
"""The columns that show whether each GPU is without fault and runs at its own speed."""

_OLDER_NAMES = {"clocks_throttle_reasons.active": EVENTS}
_ABSENT = {"[n/a]", "n/a", "[not supported]", "not supported", "[unknown]"}

# NVML: 0x1 is an idle GPU, 0x4 a GPU at its own power limit. Every other reason slows work down.
ALLOWED_EVENTS = 0x1 | 0x4

_DRIVER_VERSION = re.compile(r"\d{3}\.\d{2,3}\.\d{2}")
_OLD_DRIVER_VERSION = re.compile(r"\d{3}\.\d{2,3}")
# NVIDIA's boards, by brand or by model alone. Any other text below the header is no row.
_GPU_NAME = re.compile(r"(NVIDIA|Tesla|Quadro|GeForce|GRID|TITAN)\b|[A-Z]{1,3}\d{1,4}[A-Z]{0,3}\b|\[")
_UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_COUNT = re.compile(r"[0-9]{1,18}")
_MASK = re.compile(r"0x[0-9a-fA-F]{1,16}")
_MASK_DIGITS = len("0x") + 16

# nvidia-smi prints these where a GPU or the driver does not work.
BROKEN = re.compile(
    r"NVIDIA-SMI has failed|couldn't communicate with the NVIDIA driver|GPU is lost|requires reset"
    r"|Driver/library version mismatch|Failed to initialize NVML|No devices were found|fallen off the bus"
    r"|Unable to (?:determine|detect) the device handle|Failed to properly shut down NVML"
)
# Beside this line nvidia-smi ends with exit code 14 (its manual), which a pipe may hide.
_WARNS = re.compile(r"WARNING: infoROM is corrupted.*")


@dataclass(frozen=True)
class _Fault:
    """What one cell shows of its GPU; `proven` is False where the cell proves nothing."""

    proven: bool
    why: Reason


@dataclass(frozen=True)
class _Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    whole: bool
    """Whether the last row is known to be complete."""
    strange: int
    """Lines below the header that are no row: other text, or rows that another text runs through."""


def nvidia_smi(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:  # noqa: PLR0911 -- one a rule
    """Judges `nvidia-smi --query-gpu=… --format=csv` of `gpus` GPUs of one node of this type."""
    if broken := BROKEN.search(text):
        begins = text.rfind("\n", 0, broken.start()) + 1
        line = text[begins : begins + 300].partition("\n")[0]
        return failed(tool_says("nvidia-smi", line), {"exit_code": exit_code})
    table = _table(lines(text))
    if isinstance(table, Reason):
        return not_proven(ended_badly(exit_code) or table, {"exit_code": exit_code})
    measurements = _measurements(table, exit_code)
    faults = _faults(table, kind)
    proven = [fault.why for fault in faults if fault.proven]
    if proven:
        return failed(several(proven), measurements)
    if ending := ended_badly(exit_code) or crashed(text):
        return not_proven(ending, measurements)
    if warning := _WARNS.search(text):
        return not_proven(tool_says("nvidia-smi", warning[0]), measurements)
    if faults:
        return not_proven(several([fault.why for fault in faults]), measurements)
    return _counted(table, gpus, kind, measurements)


def _counted(table: _Table, gpus: int, kind: GpuType, measurements: dict[str, Measurement]) -> Verdict:
    """Judges the number of GPUs that are listed without fault."""
    listed = len(table.rows)
    if gpus > kind.count:
        return not_proven(too_many_gpus(gpus, kind.instance_type, kind.count), measurements)
    if listed < gpus and table.strange:
        return not_proven(reason("check.smi.unread-rows", read=listed, gpus=gpus), measurements)
    if listed < gpus:
        return failed(reason("check.smi.missing", listed=listed, gpus=gpus), measurements)
    if listed > gpus:
        return not_proven(reason("check.smi.too-many-rows", listed=listed, gpus=gpus), measurements)
    return passed(reason("check.smi.passed", gpus=gpus, model=kind.names[0]), measurements)


def _table(printed: Iterable[OutputLine]) -> _Table | Reason:
    """The one table of the output, or why there is none."""
    columns: list[str] = []
    rows: list[tuple[str, ...]] = []
    whole, strange = True, 0
    for line in printed:
        if NAME in line.text and NAME in (cells := _header(line.text)):
            if columns:
                return reason("check.smi.several-tables")
            columns = cells
        elif columns:
            row = tuple(cell.strip() for cell in line.text.split(","))
            if len(row) == len(columns) and _GPU_NAME.match(row[columns.index(NAME)]):
                rows.append(row)
                whole = line.ended
            elif not line.ended:
                return _unusable(columns) or reason("check.smi.cut-row")
            else:
                strange += bool(line.text.strip())
    if why := _unusable(columns) or (None if rows else reason("check.smi.no-row")):
        return why
    return _Table(tuple(columns), tuple(rows), whole, strange)


def _unusable(columns: Sequence[str]) -> Reason | None:
    """Why a table with these columns proves nothing; None where it can be judged."""
    if not columns:
        return reason("check.smi.no-table")
    unknown = [column for column in columns if column not in {*COLUMNS, *FABRIC}]
    if unknown:
        return reason("check.smi.unknown-column", column=unknown[0][:60])
    return reason("check.smi.column-twice") if len(set(columns)) < len(columns) else None


def _header(text: str) -> list[str]:
    """The cells of a header row by today's column names; [] for any other line."""
    cells = [cell.strip() for cell in text.split(",")]
    if NAME not in cells:
        return []
    return [_OLDER_NAMES.get(cell, cell) for cell in cells]


def _faults(table: _Table, kind: GpuType) -> list[_Fault]:
    faults = []
    for number, row in enumerate(table.rows):
        last_row = number == len(table.rows) - 1
        for place, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
            may_be_cut = not table.whole and last_row and place == len(row) - 1
            fault = _fault(column, cell, kind, may_be_cut=may_be_cut)
            if fault:
                of_gpu = reason("check.smi.gpu", gpu=number, fault=fault.why)
                faults.append(_Fault(fault.proven, of_gpu))
    if UUID in table.columns:
        place = table.columns.index(UUID)
        uuids = [row[place] for row in table.rows if _UUID.fullmatch(row[place])]
        if len(set(uuids)) < len(uuids):
            faults.append(_Fault(False, reason("check.smi.gpu-twice")))
    return faults


def _fault(  # noqa: PLR0911 -- one a column
    column: str, cell: str, kind: GpuType, *, may_be_cut: bool
) -> _Fault | None:
    if cell.lower() in _ABSENT:
        if column in kind.lacks:
            return None
        return _Fault(False, reason("check.smi.no-value", column=column))
    match column:
        case "name":
            return _name(cell, kind, may_be_cut=may_be_cut)
        case "driver_version":
            known = _DRIVER_VERSION.fullmatch(cell) or (
                not may_be_cut and _OLD_DRIVER_VERSION.fullmatch(cell)
            )
            return None if known else _unread(column, cell)
        case "uuid":
            return None if _UUID.fullmatch(cell) else _unread(column, cell)
        case "ecc.errors.uncorrected.volatile.total":
            if not _COUNT.fullmatch(cell):
                return _unread(column, cell)
            return _Fault(True, reason("check.smi.ecc", errors=int(cell))) if int(cell) else None
        case "remapped_rows.pending" | "remapped_rows.failure":
            return _remap(column, cell)
        case "fabric.state" | "fabric.status":
            return _fabric(column, cell)
        case _:
            return _events(cell, may_be_cut=may_be_cut)


def _name(cell: str, kind: GpuType, *, may_be_cut: bool) -> _Fault | None:
    if cell in kind.names:
        longer = any(name.startswith(cell) and name != cell for name in known_names())
        return _unread("name", cell) if may_be_cut and longer else None
    if may_be_cut or "\ufffd" in cell:
        return _unread("name", cell)
    other = reason("check.other-model", model=cell[:60], type=kind.instance_type, expected=kind.names[0])
    return _Fault(True, other)


def _remap(column: str, cell: str) -> _Fault | None:
    match cell.lower():
        case "no" | "0":
            return None
        case "yes" | "1":
            return _Fault(True, reason("check.smi.remap" if column == REMAP else "check.smi.remap-failed"))
        case _:
            return _unread(column, cell)


def _fabric(column: str, cell: str) -> _Fault | None:
    """While Fabric Manager is at work nothing is proven; every other word than the good one is a fault."""
    word = cell.lower()
    if word == ("completed" if column == STATE else "success"):
        return None
    return _Fault(word != "in progress", reason("check.smi.fabric", column=column, value=cell[:60]))


def _events(cell: str, *, may_be_cut: bool) -> _Fault | None:
    if not _MASK.fullmatch(cell) or (may_be_cut and len(cell) < _MASK_DIGITS):
        return _unread(EVENTS, cell)
    slowed = int(cell, 16) & ~ALLOWED_EVENTS
    return _Fault(True, reason("check.smi.clocks", mask=cell)) if slowed else None


def _unread(column: str, cell: str) -> _Fault:
    return _Fault(False, reason("check.smi.unread-value", column=column, value=cell[:60]))


def _measurements(table: _Table, exit_code: int) -> dict[str, Measurement]:
    return {
        "exit_code": exit_code,
        "gpus": len(table.rows),
        "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
        "not_judged": [column for column in COLUMNS if column not in table.columns],
    }
