"""The running controller of one pod: its process, what it prints, whether it serves, and its end.

It has a real clock for its timers, and the lab's time for instants (overlay.py). It ends when the embedded cloud ends,
also when that dies.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path

from local.hang import HANG_SECONDS

_CHILD_PROCESS = Path(__file__).parents[2] / "child_process.py"
#: Real seconds between two looks at whether it serves.
_LOOK = 0.2
#: Real seconds for its end after the signal TERM.
_END_SECONDS = 5.0


class ControllerProcess:
    """`say` gets each line that it prints. `changed` is called when it begins to serve and when it has ended."""

    def __init__(
        self,
        program: Path,
        environment: Mapping[str, str],
        *,
        say: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self._served = False
        self._say = say
        self._changed = changed
        self._health_port = int(environment["HEALTH_PROBE_PORT"])
        self._deadline = time.monotonic() + HANG_SECONDS
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_CHILD_PROCESS), str(program)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        for name, work in (("says", self._listen), ("serves", self._await_service)):
            threading.Thread(target=work, name=f"karpenter {name}", daemon=True).start()

    @property
    def status(self) -> int | None:
        """The exit status, once it has ended."""
        return self._process.poll()

    @property
    def ended(self) -> bool:
        return self.status is not None

    @property
    def serves(self) -> bool:
        return self._served and not self.ended

    @property
    def starting(self) -> bool:
        """Whether it does not serve yet, and may still come to it."""
        return not (self.serves or self.ended) and time.monotonic() < self._deadline

    def stop(self) -> None:
        """Sends TERM, as a kubelet does to a container, and kills it if its end takes long."""
        self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Ends it at once, as the kernel ends a program without memory."""
        assert self._process.stdin is not None  # noqa: S101  asked for above
        self._process.stdin.close()
        self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  asked for above
        for line in self._process.stdout:
            self._say(line.rstrip("\n"))
        self._process.wait()
        self._changed()

    def _await_service(self) -> None:
        """Asks as the readiness probe of the chart does."""
        while not self.ended and not self._healthy():
            time.sleep(_LOOK)
        self._served = True
        self._changed()

    def _healthy(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self._health_port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200  # noqa: PLR2004  HTTP's OK
        except OSError:
            return False
        finally:
            connection.close()
