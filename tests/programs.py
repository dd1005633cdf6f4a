"""Runs our programs in this interpreter as a shell starts them: with words, a folder, an environment and streams.

Each run starts with the state of a new process. tests/unit/cli/test_process.py and tests/infra/stacks/test_app.py prove
with real processes that the programs start at all.
"""

import contextlib
import io
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

import boto3

from cli import main

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def lamplighter(
    *words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
) -> CompletedProcess[str]:
    """The `lamplighter` command. Without `env` it gets the caller's environment."""
    with (
        # Each run registers only the verb that it needs.
        patch.object(main.app, "registered_commands", []),
        patch.object(main.app, "registered_groups", []),
    ):
        return started("lamplighter", main.main, *words, cwd=cwd, env=env, stdin=stdin)


def started(
    name: str,
    program: Callable[[], int | None],
    *words: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
) -> CompletedProcess[str]:
    """A program that ran to its end, with its output and its exit code."""
    arguments = [name, *map(str, words)]
    out, err = _stream(), _stream()
    with (
        patch.object(sys, "argv", arguments),
        patch.object(sys, "stdin", io.StringIO(stdin)),
        patch.object(sys, "stdout", out),
        patch.object(sys, "stderr", err),
        patch.dict(os.environ, {} if env is None else env, clear=env is not None),
        contextlib.chdir(Path.cwd() if cwd is None else cwd),
        # Credentials and settings are those of the environment.
        patch.object(boto3, "DEFAULT_SESSION", boto3.DEFAULT_SESSION if env is None else None),
        # The tests' own log handlers would keep unhandled log lines from stderr.
        patch.object(logging.root, "handlers", []),
        _signals_as_before(),
    ):
        try:
            code = program()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return CompletedProcess(arguments, code or 0, _written(out), _written(err))


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextlib.contextmanager
def _signals_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
