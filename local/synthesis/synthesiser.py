"""The program that synthesises (program.py), as its starter sees it.

To load the CDK takes longer than a synthesis. Where `stays` is set, the program stays for the next lab, until the code
that it has loaded changes or this process ends. It takes a few hundred megabytes.
"""

import atexit
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

CHECKOUT = Path(__file__).resolve().parents[2]
#: The status of a program that was stopped, as a shell says it.
STOPPED = 128 + signal.SIGKILL


class Synthesiser:
    """One program. `code` is a digest of what it loads; it keeps temporary files in a folder of its own in `folder`."""

    stays: ClassVar[bool] = False
    _kept: ClassVar["Synthesiser | None"] = None
    _one_at_a_time: ClassVar = threading.Lock()

    def __init__(self, code: str, folder: Path) -> None:
        self.code = code
        self._scratch = Path(tempfile.mkdtemp(dir=folder, prefix="draft-"))
        self._held = os.open(self._scratch, os.O_RDONLY)
        fcntl.flock(self._held, fcntl.LOCK_SH)
        self._errors = self._scratch / "errors"
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "local.synthesis.program"],
                cwd=CHECKOUT,
                # An interrupted jsii leaves its temporary files behind; they end with the folder. `make synth` and the
                # tests of the templates apply CloudFormation's rules, which takes longer than the rest.
                env={**os.environ, "TMPDIR": str(self._scratch), "CDK_VALIDATION": "false"},
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    @classmethod
    def run(
        cls,
        arguments: list[str],
        code: str,
        folder: Path,
        started: Callable[[Callable[[], None]], object],
    ) -> tuple[int, str]:
        """The exit status of app.py with these arguments, and its errors.

        `started` is called with a function that stops it.
        """
        with cls._one_at_a_time:
            program, cls._kept = cls._kept, None
            if program is not None and program.code != code:
                program.end()
                program = None
            program = program or cls(code, folder)
            going = threading.Event()
            going.set()
            started(lambda: program.kill() if going.is_set() else None)
            try:
                answer = program.ask(arguments)
                if cls.stays and answer[0] != STOPPED:
                    cls._kept = program
            finally:
                going.clear()
                if cls._kept is None:
                    program.end()
            return answer

    def ask(self, arguments: list[str]) -> tuple[int, str]:
        """As `run`."""
        assert self._process.stdin is not None  # noqa: S101 (asked for above)
        assert self._process.stdout is not None  # noqa: S101
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(arguments) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            return STOPPED, self._errors.read_text("utf-8", "replace")
        status, errors = json.loads(line)
        return status, errors

    def kill(self) -> None:
        """Stops the program and the Node.js process that jsii starts, at any moment."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        self.kill()
        with suppress(BrokenPipeError):
            self._process.communicate()
        shutil.rmtree(self._scratch, ignore_errors=True)
        os.close(self._held)

    @classmethod
    def end_kept(cls) -> None:
        """Ends the program that stays, if there is one."""
        with cls._one_at_a_time:
            program, cls._kept = cls._kept, None
            if program is not None:
                program.end()


atexit.register(Synthesiser.end_kept)
