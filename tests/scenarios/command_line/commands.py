"""The command line as a program of its own, without the second of processor time that each start takes.

program.py has loaded it once, and each command is a copy.
"""

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile

from tests.steady.hang import HANG_SECONDS

_STATUS = 16


class Commands:
    """The program, while this process lives."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            program = f"{__package__}.program"
            self._program = subprocess.Popen([sys.executable, "-m", program], stdin=theirs.fileno())

    def run(self, words: tuple[str, ...], environment: Mapping[str, str]) -> CompletedProcess[str]:
        """A command that ran to its end. Several may run at once."""
        order = {"words": words, "environment": dict(environment), "folder": str(Path.cwd())}
        with TemporaryFile() as output, TemporaryFile() as errors:
            read, told = os.pipe()
            try:
                descriptors = [output.fileno(), errors.fileno(), told]
                socket.send_fds(self._orders, [json.dumps(order).encode()], descriptors)
                os.close(told)
                assert select.select([read], [], [], HANG_SECONDS)[0], f"{words} hung"
                status = int(os.read(read, _STATUS))
            finally:
                os.close(read)
            output.seek(0)
            errors.seek(0)
            return CompletedProcess(words, status, output.read().decode(), errors.read().decode())


@cache
def commands() -> Commands:
    """Those of this process."""
    return Commands()
