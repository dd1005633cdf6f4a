"""A lab file -> the lab, or everything that is wrong with it, with the line of each.

Only the command line and synthesis read files; functions get the normalised lab as JSON.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath

from pydantic import ValidationError

from lamplighter.errors import BadInput
from lamplighter.lab.exceptions import calendar_files
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.names import WINDOW_NAME
from lamplighter.lab.types import shown
from lamplighter.labfile import yaml as lab_yaml
from lamplighter.labfile.messages import sentence
from lamplighter.labfile.repair import cleaned, culprit, repaired
from lamplighter.labfile.rules import auto_mode as lab_rules_auto_mode
from lamplighter.labfile.rules import classes as lab_rules_classes
from lamplighter.labfile.rules import cluster as lab_rules_cluster
from lamplighter.labfile.rules import curfew as lab_rules_curfew
from lamplighter.labfile.rules import efa as lab_rules_efa
from lamplighter.labfile.rules import events as lab_rules_events
from lamplighter.labfile.rules import fallback as lab_rules_fallback
from lamplighter.labfile.rules import gpu as lab_rules_gpu
from lamplighter.labfile.rules import images as lab_rules_images
from lamplighter.labfile.rules import karpenter as lab_rules_karpenter
from lamplighter.labfile.rules import limits as lab_rules_limits
from lamplighter.labfile.rules import names as lab_rules_names
from lamplighter.labfile.rules import node_groups as lab_rules_node_groups
from lamplighter.labfile.rules import node_pools as lab_rules_node_pools
from lamplighter.labfile.rules import notify as lab_rules_notify
from lamplighter.labfile.rules import parts as lab_rules
from lamplighter.labfile.rules import reservations as lab_rules_reservations
from lamplighter.labfile.rules import spot as lab_rules_spot
from lamplighter.labfile.rules import stack as lab_rules_stack
from lamplighter.labfile.rules import types_and_zones as lab_rules_types_and_zones

RULES = (
    lab_rules,
    lab_rules_auto_mode,
    lab_rules_classes,
    lab_rules_cluster,
    lab_rules_curfew,
    lab_rules_efa,
    lab_rules_fallback,
    lab_rules_events,
    lab_rules_gpu,
    lab_rules_images,
    lab_rules_karpenter,
    lab_rules_limits,
    lab_rules_names,
    lab_rules_node_groups,
    lab_rules_node_pools,
    lab_rules_notify,
    lab_rules_reservations,
    lab_rules_spot,
    lab_rules_stack,
    lab_rules_types_and_zones,
)
LARGEST = 256 * 1024
_WORD = re.compile(r"[\w/-]{1,80}")
_WINDOW_NAME = re.compile(WINDOW_NAME)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a lab file; as text it is one line."""

    file: str
    line: int
    key: str
    text: str

    def __str__(self) -> str:
        said = f"{self.file}:{self.line}: {self.key}: {self.text}"
        # Quotes from a file may contain any line end of Unicode.
        return " ".join(said.splitlines())


def load(path: FilePath | str) -> Lab:
    """The lab in a file. BadInput with every problem, a line each."""
    found = read(path)
    if isinstance(found, Lab):
        return found
    raise BadInput("\n".join(str(problem) for problem in found))


def problem(path: FilePath | str, key: Path, text: str) -> Problem:
    """A problem that a verb finds in a valid lab, at the line of the key or of the part around it."""
    document = lab_yaml.read(FilePath(path).read_text("utf-8-sig"))
    return Problem(_name(path), document.line(key), _key(key), text)


def read(path: FilePath | str) -> Lab | list[Problem]:
    """The lab in a file, or its problems in the order of the file's lines."""
    name = _name(path)
    try:
        with FilePath(path).open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        return [Problem(name, 1, "lab", _unreadable(error))]
    if len(content) > LARGEST:
        return [Problem(name, 1, "lab", "is larger than 256 KiB, keep it smaller")]
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return [Problem(name, line, "lab", f"is not UTF-8 at byte {error.start}, save it as UTF-8")]
    return parse(text, name, FilePath(path).parent)


def parse(text: str, name: str = "lab.yaml", folder: FilePath | None = None) -> Lab | list[Problem]:
    """The lab that a text describes, or its problems; with a folder, its calendar files are read from there."""
    document = lab_yaml.read(text)
    lab, found = _judge(document)
    if lab is not None and folder is not None and _names_calendars(lab):
        from lamplighter.labfile import courses as lab_courses  # noqa: PLC0415 -- most labs follow no calendar

        lab, wrong = lab_courses.filled(lab, folder)
        found += wrong
    if lab is not None and not found and not document.faults:
        return lab
    told = [(fault.line, fault.path, fault.text) for fault in document.faults]
    told += [(document.line(path), path, said) for path, said in found]
    ordered = sorted(set(told), key=lambda one: (one[0], [str(step) for step in one[1]]))
    return [
        Problem(name, line, _key(path), _with_window(document, path, said)) for line, path, said in ordered
    ]


def _names_calendars(lab: Lab) -> bool:
    exceptions = (lab.except_, *(window.except_ for window in lab.windows))
    return any(window.calendar for window in lab.windows) or any(map(calendar_files, exceptions))


def _with_window(document: lab_yaml.Document, path: Path, said: str) -> str:
    """A problem of a window with the window's name: its index alone is hard to find in a file."""
    match path, document.value:
        case ("windows", int(index), *rest), {"windows": [*windows]} if index < len(windows) and rest != [
            "name"
        ]:
            named = windows[index].get("name") if isinstance(windows[index], dict) else None
        case _:
            return said
    if not isinstance(named, str) or not _WINDOW_NAME.fullmatch(named):
        return said
    if re.search(rf"\bwindow {re.escape(named)}(?![\w.-]*\w)", said):
        return said
    return f"{said} (window {named})"


def _judge(document: lab_yaml.Document) -> tuple[Lab | None, list[tuple[Path, str]]]:
    """The lab, if it can be read at all, and the problems of keys, of values and of their fit."""
    if document.value is None and document.faults:
        return None, []
    value = {} if document.value is None else cleaned(document.value)
    if not isinstance(value, dict):
        return None, [((), f"is {shown(value)}, write a mapping of keys such as name and pools")]
    try:
        lab = Lab.model_validate(value)
    except ValidationError as error:
        wrong = [
            (_written(detail["loc"], document), sentence(detail, _path(detail["loc"])))
            for detail in error.errors()
        ]
        bad = {culprit(detail["loc"]) for detail in error.errors()}
        mended = repaired(value, error)
        return None, wrong + (_misfits(mended, bad) if mended is not None else [])
    return lab, _misfits(lab, set())


def _misfits(lab: Lab, bad: Iterable[Path]) -> list[tuple[Path, str]]:
    """The misfits, without those that depend on a value that is wrong itself."""
    wrong = set(bad)

    def sound(path: Path) -> bool:
        return not any(path[:length] in wrong for length in range(len(path) + 1))

    return [
        (misfit.path, misfit.text)
        for rules in RULES
        for misfit in rules.misfits(lab)
        if sound(misfit.path) and all(sound(path) for path in misfit.reads)
    ]


def _name(path: FilePath | str) -> str:
    """A file as the command line named it, on one line."""
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in os.fspath(path))


def _path(location: tuple[str | int, ...]) -> Path:
    return tuple(step for step in location if step != "[key]")


def _written(location: tuple[str | int, ...], document: lab_yaml.Document) -> Path:
    """The path of an error, without the index of an item that was written as a single word."""
    path = _path(location)
    return path[:-1] if path and isinstance(path[-1], int) and path not in document.lines else path


def _key(path: Path) -> str:
    return ".".join(str(step) if _WORD.fullmatch(str(step)) else shown(step) for step in path) or "lab"


def _unreadable(error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            return "is missing, name a lab file with --lab"
        case IsADirectoryError():
            return "is a folder, name a lab file with --lab"
        case PermissionError():
            return "cannot be read, give it read permission or name another file with --lab"
        case _:
            reason = getattr(error, "strerror", None) or str(error)
            return f"cannot be read ({reason}), name a lab file with --lab"
