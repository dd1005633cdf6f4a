"""Runs a part: what it printed, how long it took, and the processor time of all that it started.

Processor time is that of children which were waited for; pytest waits for its workers, and the embedded cloud
for its programs.
"""

import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

from tests.suite.parts import ROOT, Part


@dataclass(frozen=True)
class Ended:
    """How a part ended; seconds."""

    part: Part
    passed: bool
    output: str
    real: float
    processor: float

    @property
    def last_line(self) -> str:
        """Where pytest, mypy and lint-imports say what came of it."""
        return next((line.strip(" =") for line in reversed(self.output.splitlines()) if line.strip()), "")


class Running:
    """Parts that run, of which all can be ended."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._ending = False
        self._lock = threading.Lock()

    def run(self, part: Part) -> Ended:
        """Run its commands, up to the first that fails."""
        begun = time.monotonic()
        processor = 0.0
        status = 0
        with tempfile.TemporaryFile() as output:
            for command in part.commands:
                with self._lock:
                    if self._ending:
                        break
                    process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
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
        """Ask all that runs to end, and start nothing more."""
        with self._lock:
            self._ending = True
            for process in self._processes:
                process.terminate()
