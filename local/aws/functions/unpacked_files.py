"""Files as they come out of an asset's zip archive: old and read-only, with bytecode only if the archive has it.

On AWS, /var/task and /opt are such files. CDK gives every file of its archives the same time, so bytecode that Python
compares with the time of its source counts as stale there.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

#: 1 January 1980, UTC: the earliest time that an archive can hold.
PACKED = 315532800
READ_ONLY = 0o444
ANYBODY_RUNS = 0o111


def as_unpacked(source: Path, target: Path) -> Path:
    """The folder `source` at `target`, as its archive would give it. It is made once."""
    return made_once(target, lambda draft: lay_out(source, draft))


def lay_out(source: Path, target: Path) -> None:
    """Copies all files of `source` into the folder `target`."""
    for path in source.rglob("*"):
        if path.is_file():
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            seal(place, path.stat().st_mode)


def seal(path: Path, mode: int = 0) -> None:
    """Makes a file old and read-only. It stays executable if `mode` says so."""
    os.utime(path, (PACKED, PACKED))
    path.chmod(mode & ANYBODY_RUNS | READ_ONLY)


def made_once(folder: Path, fill: Callable[[Path], None]) -> Path:
    """`folder`, filled unless it exists. It appears only when it is complete; several processes may call it."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix="draft-"))
    try:
        fill(draft)
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():  # otherwise another process was first
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder
