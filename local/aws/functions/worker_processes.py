"""The processes of workers, started by worker_starter.py, which loads what the functions of a code folder import."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

STARTER = Path(__file__).with_name("worker_starter.py")
#: The longest answer of the starter in bytes.
_ANSWER = 1024
#: The variables of the starter's own process. A worker has those of its function instead.
_BARE = {
    "PATH": os.environ.get("PATH", os.defpath),
    "LANG": "C.UTF-8",
    "TZ": ":UTC",
    # As on Lambda, where code and layers cannot be written.
    "PYTHONDONTWRITEBYTECODE": "1",
}


class WorkerProcess:
    """One worker's process. It ends when it is killed, when its program ends, or with the process that asked for it."""

    def __init__(self, held: int) -> None:
        #: The other end of its standard input, which we keep open.
        self._held: int | None = held
        self._lock = threading.Lock()
        self._over = threading.Event()
        #: Its number, once it has begun.
        self.pid: int | None = None
        #: Its exit status, once it has ended; minus the signal that killed it.
        self.returncode: int | None = None

    def wait(self) -> None:
        """Waits until it has ended."""
        self._over.wait()

    def kill(self) -> None:
        """Ends it and everything that it started, at once. One that has not begun ends as it begins."""
        if self.pid is not None and self.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self._let_go()

    def end(self, status: int) -> None:
        """It has ended."""
        self.returncode = status
        self._let_go()
        self._over.set()

    def _let_go(self) -> None:
        with self._lock:
            if self._held is not None:
                os.close(self._held)
                self._held = None


class WorkerProcesses:
    """All processes that import from the same folders. `loaded`: what their handlers import is loaded once for all."""

    def __init__(self, folders: tuple[Path, ...], *, loaded: bool) -> None:
        self._loaded = loaded
        self._lock = threading.Lock()
        #: Those that have not begun, in their order.
        self._asked: deque[WorkerProcess] = deque()
        self._running: dict[int, WorkerProcess] = {}
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._starter = subprocess.Popen(
                [sys.executable, "-S", "-u", str(STARTER), *map(str, folders)],
                env=_BARE,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        threading.Thread(target=self._listen, name="worker starter", daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether it can start workers."""
        return self._starter.poll() is None

    def start(self, handler: str, variables: Mapping[str, str], output: int) -> WorkerProcess:
        """Starts a worker that writes to the descriptor `output`."""
        source, held = os.pipe()
        process = WorkerProcess(held)
        order = {"handler": handler, "environment": dict(variables), "loaded": self._loaded}
        with self._lock:
            try:
                socket.send_fds(self._orders, [json.dumps(order).encode()], [source, output])
                self._asked.append(process)
            except OSError:  # no starter reads it any more
                process.end(-signal.SIGKILL)
            finally:
                os.close(source)
        return process

    def close(self) -> None:
        """Starts no more. The starter ends, too."""
        with suppress(OSError):
            self._orders.shutdown(socket.SHUT_WR)
        self._starter.wait()

    def _listen(self) -> None:
        with suppress(ConnectionResetError):  # it ended with orders that it had not read
            while answer := self._orders.recv(_ANSWER):
                self._hear(**json.loads(answer))
        with self._lock:
            self._orders.close()
            for process in (*self._asked, *self._running.values()):
                process.end(-signal.SIGKILL)  # no starter reports its end any more, and its input ends it

    def _hear(self, process: int, status: int | None = None) -> None:
        if status is not None:
            self._running.pop(process).end(status)
            return
        with self._lock:
            begun = self._running[process] = self._asked.popleft()
        begun.pid = process
