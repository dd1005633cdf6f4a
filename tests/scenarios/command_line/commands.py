"""The command line as a program of its own, without the second of processor time that each start takes.

program.py has loaded it once, and each command is a copy.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from typing import Self

from tests.steady.hang import HANG_SECONDS

#: The longest message about a command: its process, or its exit status.
_NUMBER = 16


class Command:
    """A command that has begun, with what scenarios use of `subprocess.Popen`."""

    def __init__(self, orders: socket.socket, order: Mapping[str, object]) -> None:
        self._open = ExitStack()
        self._output = self._open.enter_context(TemporaryFile())  # noqa: SIM115 (closed with the others)
        self._told, told = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        errors, written = socket.socketpair()
        for ours in (self._told, errors):
            self._open.enter_context(ours).settimeout(HANG_SECONDS)
        self.stderr = self._open.enter_context(errors.makefile(encoding="utf-8", newline=""))
        with told, written:
            descriptors = [self._output.fileno(), written.fileno(), told.fileno()]
            socket.send_fds(orders, [json.dumps(order).encode()], descriptors)
        self._process = int(self._told.recv(_NUMBER))
        #: Once it has ended; minus the signal that ended it.
        self.returncode = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def send_signal(self, number: int) -> None:
        os.kill(self._process, number)

    def communicate(self, timeout: float = HANG_SECONDS) -> tuple[str, str]:
        """Its output, and what it has written of errors since then. It has ended."""
        self._told.settimeout(timeout)
        errors = self.stderr.read()
        self.returncode = int(self._told.recv(_NUMBER))
        self._output.seek(0)
        return self._output.read().decode(), errors


class Commands:
    """The program, while this process lives."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            program = f"{__package__}.program"
            self._program = subprocess.Popen([sys.executable, "-m", program], stdin=theirs.fileno())

    def begin(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
    ) -> Command:
        """Begins a command, in a folder. Several may run at once."""
        order = {"words": words, "environment": dict(environment), "folder": str(folder or Path.cwd())}
        return Command(self._orders, order)

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
    ) -> CompletedProcess[str]:
        """A command that ran to its end."""
        with self.begin(words, environment, folder) as command:
            output, errors = command.communicate()
            return CompletedProcess(words, command.returncode, output, errors)


@cache
def commands() -> Commands:
    """Those of this process."""
    return Commands()
