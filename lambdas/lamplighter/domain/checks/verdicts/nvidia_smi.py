"""Reads nvidia-smi's CSV: are all GPUs there, of the right model, and without fault.

Decides on every row and column it was given; a column left out is listed as not judged, a value that
cannot be read makes the whole not proven, since nothing passes without evidence.
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
)
from lamplighter.domain.gpu.instance_types import GpuType, known_names

NAME, DRIVER, UUID = "name", "driver_version", "uuid"
ECC = "ecc.errors.uncorrected.volatile.total"
REMAP = "remapped_rows.pending"
EVENTS = "clocks_event_reasons.active"
COLUMNS = (NAME, DRIVER, UUID, ECC, REMAP, EVENTS)
PRESENCE = (NAME, DRIVER, UUID)
"""Is each GPU there, and of the right model."""
HEALTH = (NAME, UUID, ECC, REMAP, EVENTS)
"""Is each GPU without fault, and free to run at its own speed."""

_OLDER_NAMES = {"clocks_throttle_reasons.active": EVENTS}
_ABSENT = {"[n/a]", "n/a", "[not supported]", "not supported", "[unknown]"}

# NVML: 0x1 is an idle GPU, 0x4 one at its own power limit; every other reason slows work down.
ALLOWED_EVENTS = 0x1 | 0x4

_DRIVER_VERSION = re.compile(r"\d{3}\.\d{2,3}\.\d{2}")
_OLD_DRIVER_VERSION = re.compile(r"\d{3}\.\d{2,3}")
# Boards of NVIDIA, by brand or by bare model; any other text below the header is no row.
_GPU_NAME = re.compile(r"(NVIDIA|Tesla|Quadro|GeForce|GRID|TITAN)\b|[A-Z]{1,3}\d{1,4}[A-Z]{0,3}\b|\[")
_UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_COUNT = re.compile(r"[0-9]{1,18}")
_MASK = re.compile(r"0x[0-9a-fA-F]{1,16}")
_MASK_DIGITS = len("0x") + 16

# nvidia-smi's own words for a GPU or a driver that does not work.
_BROKEN = re.compile(
    r"NVIDIA-SMI has failed|couldn't communicate with the NVIDIA driver|GPU is lost|requires reset"
    r"|Driver/library version mismatch|Failed to initialize NVML|No devices were found|fallen off the bus"
    r"|Unable to (?:determine|detect) the device handle|Failed to properly shut down NVML"
)
# It ends with exit code 14 beside this line (nvidia-smi's manual), which a pipe may swallow.
_WARNS = re.compile(r"WARNING: infoROM is corrupted.*")


@dataclass(frozen=True)
class _Fault:
    """What one cell says against the GPU; `proven` is False where it only cannot be told."""

    proven: bool
    text: str


@dataclass(frozen=True)
class _Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    whole: bool
    """Whether the last row is known to be complete."""
    strange: int
    """Lines below the header that are no row: other text, or rows that another text runs through."""


def nvidia_smi(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:  # noqa: PLR0911 -- one a rule
    """Judges `nvidia-smi --query-gpu=… --format=csv` for `gpus` GPUs of one node of this type."""
    if broken := _BROKEN.search(text):
        begins = text.rfind("\n", 0, broken.start()) + 1
        line = text[begins : begins + 300].partition("\n")[0].strip()
        return failed(f"nvidia-smi says: {line[:200]}", {"exit_code": exit_code})
    table = _table(lines(text))
    if isinstance(table, str):
        return not_proven(ended_badly(exit_code) or table, {"exit_code": exit_code})
    measured = _measured(table, exit_code)
    faults = _faults(table, kind)
    proven = [fault.text for fault in faults if fault.proven]
    if proven:
        return failed("; ".join(proven), measured)
    if badly := ended_badly(exit_code) or crashed(text):
        return not_proven(badly, measured)
    if warning := _WARNS.search(text):
        return not_proven(f"nvidia-smi says: {warning[0].strip()[:200]}", measured)
    if faults:
        return not_proven("; ".join(fault.text for fault in faults), measured)
    return _counted(table, gpus, kind, measured)


def _counted(table: _Table, gpus: int, kind: GpuType, measured: dict[str, Measurement]) -> Verdict:
    """Judges how many GPUs without fault are listed."""
    if gpus > kind.count:
        return not_proven(f"a {kind.instance_type} has {kind.count} GPUs, so {gpus} cannot be seen", measured)
    if len(table.rows) < gpus and table.strange:
        return not_proven(f"{len(table.rows)} of {gpus} GPUs can be read in the table", measured)
    if len(table.rows) < gpus:
        return failed(f"{len(table.rows)} of {gpus} GPUs are there", measured)
    if len(table.rows) > gpus:
        return not_proven(f"{len(table.rows)} GPUs are listed where {gpus} were to be judged", measured)
    return passed(f"{gpus} of {gpus} GPUs are there and without fault: {kind.names[0]}", measured)


def _table(printed: Iterable[OutputLine]) -> _Table | str:
    """The one table of the output, or why there is none."""
    columns: list[str] = []
    rows: list[tuple[str, ...]] = []
    whole, strange = True, 0
    for line in printed:
        if NAME in line.text and NAME in (cells := _header(line.text)):
            if columns:
                return "there is more than one table in the output"
            columns = cells
        elif columns:
            row = tuple(cell.strip() for cell in line.text.split(","))
            if len(row) == len(columns) and _GPU_NAME.match(row[columns.index(NAME)]):
                rows.append(row)
                whole = line.ended
            elif not line.ended:
                return _unusable(columns) or "the output breaks off within a row"
            else:
                strange += bool(line.text.strip())
    if why := _unusable(columns) or (None if rows else "the table has no row"):
        return why
    return _Table(tuple(columns), tuple(rows), whole, strange)


def _unusable(columns: Sequence[str]) -> str | None:
    """Why a table with these columns says nothing."""
    if not columns:
        return "nvidia-smi printed no table with a header row and a name column"
    unknown = [column for column in columns if column not in COLUMNS]
    if unknown:
        return f"the column '{unknown[0][:60]}' is none that can be judged"
    return "a column is there twice" if len(set(columns)) < len(columns) else None


def _header(text: str) -> list[str]:
    """The cells of a header row in today's names; [] for any other line."""
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
                faults.append(_Fault(fault.proven, f"GPU {number}: {fault.text}"))
    if UUID in table.columns:
        place = table.columns.index(UUID)
        uuids = [row[place] for row in table.rows if _UUID.fullmatch(row[place])]
        if len(set(uuids)) < len(uuids):
            faults.append(_Fault(False, "the same GPU is listed twice"))
    return faults


def _fault(  # noqa: PLR0911 -- one a column
    column: str, cell: str, kind: GpuType, *, may_be_cut: bool
) -> _Fault | None:
    if cell.lower() in _ABSENT:
        if column in kind.lacks:
            return None
        return _Fault(False, f"{column} has no value, on a model that has it")
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
            return _Fault(True, f"{cell} uncorrected ECC errors, allowed are 0") if int(cell) else None
        case "remapped_rows.pending":
            return _remap(cell)
        case _:
            return _events(cell, may_be_cut=may_be_cut)


def _name(cell: str, kind: GpuType, *, may_be_cut: bool) -> _Fault | None:
    if cell in kind.names:
        longer = any(name.startswith(cell) and name != cell for name in known_names())
        return _unread("name", cell) if may_be_cut and longer else None
    if may_be_cut or "\ufffd" in cell:
        return _unread("name", cell)
    return _Fault(True, f"it is a {cell[:60]} where a {kind.instance_type} has {kind.names[0]}")


def _remap(cell: str) -> _Fault | None:
    match cell.lower():
        case "no" | "0":
            return None
        case "yes" | "1":
            return _Fault(True, "a row remapping is pending: the GPU needs a reset")
        case _:
            return _unread(REMAP, cell)


def _events(cell: str, *, may_be_cut: bool) -> _Fault | None:
    if not _MASK.fullmatch(cell) or (may_be_cut and len(cell) < _MASK_DIGITS):
        return _unread(EVENTS, cell)
    slowed = int(cell, 16) & ~ALLOWED_EVENTS
    return _Fault(True, f"its clocks are held down, event reasons {cell}, allowed 0x5") if slowed else None


def _unread(column: str, cell: str) -> _Fault:
    return _Fault(False, f"{column} reads '{cell[:60]}', which is no value of it")


def _measured(table: _Table, exit_code: int) -> dict[str, Measurement]:
    return {
        "exit_code": exit_code,
        "gpus": len(table.rows),
        "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
        "not_judged": [column for column in COLUMNS if column not in table.columns],
    }
