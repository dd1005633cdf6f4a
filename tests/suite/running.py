"""Runs a part, and measures its output, its time and the processor time of all its processes.

The processor time counts child processes only if their parent waits for them: pytest waits for its workers, and the
embedded cloud for its programs.
"""

import os
import re
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from local.cache_folder import cache_folder
from tests.checkout import ROOT
from tests.suite.parts import Part
from tests.suite.time_limit import NOT_BEGUN

#: The environment variable with the name of the part, for its processes.
NAME = "LAMPLIGHTER_PART"
#: On some virtual machines a page fault takes 40 microseconds, and small tests twice as long without large pages, which
#: only the allocator of glibc asks for. It gives back no memory, and one arena is enough below Python's lock.
LARGE_PAGES = {
    "PYTHONMALLOC": "malloc",
    "GLIBC_TUNABLES": ":".join(
        f"glibc.malloc.{name}"
        for name in ("hugetlb=1", "arena_max=1", "trim_threshold=1000000000", "mmap_threshold=500000000")
    ),
}
#: A line of pytest's summary. It has one for each test whose fixture skips, also if the reasons are the same.
_SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] .*?: (.*)$", re.MULTILINE)
#: The beginning of a line about a file that the key of a part leaves out (tests/suite/opened.py).
NOT_IN_KEY = "NOT IN ITS KEY: "


@dataclass(frozen=True)
class Ended:
    """The end of a part; times are in seconds."""

    part: Part
    passed: bool
    output: str
    real: float
    processor: float

    @property
    def last_line(self) -> str:
        """The line in which pytest, mypy and lint-imports print their result."""
        return next((line.strip(" =") for line in reversed(self.output.splitlines()) if line.strip()), "")

    @property
    def skipped(self) -> Mapping[str, int]:
        """Why pytest skipped tests, and how many: for example because a program is missing on this machine."""
        reasons = Counter[str]()
        for number, reason in _SKIPPED.findall(self.output):
            reasons[reason] += int(number)
        return reasons

    @property
    def not_begun(self) -> int:
        """How many tests were left when the time of the run was over."""
        return self.skipped.get(NOT_BEGUN, 0)

    @property
    def not_in_key(self) -> Sequence[str]:
        """The lines about files that its tests opened and its key leaves out."""
        return [line for line in self.output.splitlines() if line.startswith(NOT_IN_KEY)]

    @property
    def whole(self) -> bool:
        """Whether the same key would give the same again: it passed, and its key has all files that its tests opened.

        A test is skipped for want of a program. The next run may have it, unless its version is in the key.
        """
        if not self.passed or self.not_in_key or self.not_begun:
            return False
        return not self.skipped or bool(self.part.versions)


class Running:
    """The running parts; `end` ends them all."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._ending = False
        self._lock = threading.Lock()

    def run(self, part: Part) -> Ended:
        """Run the part's commands until one fails."""
        begun = time.monotonic()
        # What mypy read of packages and files it keeps by their digests, for each checkout of this user.
        types = str(cache_folder() / "types")
        processor = 0.0
        status = 0
        with tempfile.TemporaryFile() as output:
            for command in part.commands:
                with self._lock:
                    if self._ending:
                        break
                    process = subprocess.Popen(
                        command,
                        cwd=ROOT,
                        env={**LARGE_PAGES, **os.environ, NAME: part.name, "MYPY_CACHE_DIR": types},
                        stdout=output,
                        stderr=subprocess.STDOUT,
                    )
                    self._processes.add(process)
                _, waited, used = os.wait4(process.pid, 0)
                status = process.returncode = os.waitstatus_to_exitcode(waited)
                self._processes.discard(process)
                processor += used.ru_utime + used.ru_stime
                if status not in part.well:
                    break
            output.seek(0)
            text = output.read().decode(errors="replace")
        passed = status in part.well and not self._ending
        return Ended(part, passed, text, time.monotonic() - begun, processor)

    def end(self) -> None:
        """Asks all processes to end, and starts no more."""
        with self._lock:
            self._ending = True
            for process in self._processes:
                process.terminate()
