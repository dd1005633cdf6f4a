"""The present instant in a file, for processes that live in the lab's time: workers, and Kubernetes itself.

Its first eight bytes are nanoseconds since 1970, in the machine's byte order. Readers map the file or read it each
time. One aligned write of eight bytes is never seen incomplete.
"""

import mmap
import struct
from pathlib import Path

_INSTANT = struct.Struct("=q")


class ClockFile:
    """`path` is created, and is written whenever the instant changes."""

    def __init__(self, path: Path) -> None:
        # It is a new file if one exists, because a process that mapped the old file keeps that one.
        draft = path.with_name(path.name + ".new")
        draft.write_bytes(bytes(mmap.PAGESIZE))
        draft.replace(path)
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def write(self, epoch: float) -> None:
        """Writes `epoch`, in seconds, as the present instant."""
        _INSTANT.pack_into(self._page, 0, int(epoch * 1e6) * 1000)
