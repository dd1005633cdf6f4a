"""The present instant in a file, for the processes that live in the lab's time: workers, and Kubernetes itself.

Its first eight bytes are nanoseconds since 1970 in the machine's byte order. Readers map it or read it anew; one
aligned write of eight bytes is never seen half done.
"""

import mmap
import struct
from pathlib import Path

_INSTANT = struct.Struct("=q")


class ClockFile:
    """`path` is made, and written whenever the instant changes."""

    def __init__(self, path: Path) -> None:
        # Another file than one that stood here: who has mapped that keeps it.
        draft = path.with_name(path.name + ".new")
        draft.write_bytes(bytes(mmap.PAGESIZE))
        draft.replace(path)
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def write(self, epoch: float) -> None:
        """`epoch` in seconds is the present instant."""
        _INSTANT.pack_into(self._page, 0, int(epoch * 1e6) * 1000)
