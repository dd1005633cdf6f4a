"""Folders that the workers of one test session share: the first worker makes one, the others wait and read it.

They are in the session's own temporary folder, so no test reads a folder that other sources made.
"""

import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(sessions: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The folder of that name, filled by `make` unless a worker of this session has filled it."""
    own = sessions.getbasetemp()
    # Each worker has a folder of its own inside the session's.
    root = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = root / name
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = Path(tempfile.mkdtemp(dir=root))
            make(unfinished)
            unfinished.rename(folder)
    return folder
