"""A folder below .build that is built once, and again only when its sources change."""

import fcntl
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

DIGEST = "digest"
"""The file with the digest of its sources; it is not deployed."""


def ensure(folder: Path, digest: str, build: Callable[[Path], None]) -> Path:
    """The folder. It is built first if it is missing or out of date; nobody sees a half-built one.

    Several processes may ask at once: one builds, and the others wait and take what it built.
    """
    if _is_of(folder, digest):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_of(folder, digest):
            _replace(folder, digest, build)
    return folder


def _is_of(folder: Path, digest: str) -> bool:
    made_of = folder / DIGEST
    return made_of.exists() and made_of.read_text("ascii") == digest


def _replace(folder: Path, digest: str, build: Callable[[Path], None]) -> None:
    # What a build left that was killed: nobody else holds the lock.
    for left in folder.parent.glob(f"{folder.name}-*"):
        shutil.rmtree(left)
    fresh = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    try:
        build(fresh)
        (fresh / DIGEST).write_text(digest, "ascii")
        fresh.chmod(0o755)
        if folder.exists():
            folder.rename(fresh.with_suffix(".old"))
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(fresh.with_suffix(".old"), ignore_errors=True)
