"""The AWS CLI that a layer brings, for functions on this machine: they ask a program that has loaded it already.

A function calls the CLI once or twice for each object that CloudFormation puts into Kubernetes, and the start of the
CLI takes longer than the rest of it. aws_cli_starter.py is that program. It ends with this process.
"""

import atexit
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

STARTER = Path(__file__).with_name("aws_cli_starter.py")
ASK = Path(__file__).with_name("aws_cli_run.py")
#: The programs, which end when nobody holds their input any more, and the folders of their sockets.
_RUNNING: list[tuple[subprocess.Popen[bytes], tempfile.TemporaryDirectory[str]]] = []


@cache
def address(folder: Path) -> Path:
    """The address of the socket at which the CLI in this folder answers, soon."""
    work = tempfile.TemporaryDirectory(prefix="lamplighter-aws-")
    place = Path(work.name, "socket")
    program = subprocess.Popen(
        [sys.executable, "-S", str(STARTER), str(folder), str(place)],
        env={"LANG": "C.UTF-8", "TZ": ":UTC"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _RUNNING.append((program, work))
    return place


@atexit.register
def _end() -> None:
    for program, work in _RUNNING:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)  # with its copies
        program.communicate()
        work.cleanup()
