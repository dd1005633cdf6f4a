"""The Pythons of this machine. A program counts as one only if it answers with its version.

A `python3.13` may be a shim of a version manager that has no such version, or a link to a version that was removed.
The Makefile runs this file with any Python 3, before there are packages: it prints the Python for `.venv`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

RUNTIME = "3.13"
"""The version of Lambda's runtime; bytecode is good for one minor version only."""
OLDEST = (3, 11)
"""The oldest version that runs Lamplighter."""
ANSWER_SECONDS = 20
"""How long a Python may take to start on a busy machine."""
QUESTION = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
ABLE = f"import ensurepip, venv; {QUESTION}"
"""Some distributions have the two in a package of their own; `.venv` needs both."""
NUMBERED = re.compile(r"python3\.\d+")


def find(version: str, *further: Path) -> str | None:
    """A Python of a minor version; None if none answers. `further` are folders of versions to search as well."""
    programs = (
        path for name in (f"python{version}", "python3", "python") for path in _programs(name, *further)
    )
    return next((python for named, python in _answers(programs) if named == version), None)


def find_for_environment() -> str | None:
    """A Python that can make `.venv`: of the runtime's version, else the one that the user calls, else the newest."""
    programs = (path for name in (f"python{RUNTIME}", "python3", "python") for path in _programs(name))
    answers = _answers(chain(programs, _numbered()), ABLE)
    return next((python for version, python in answers if _parsed(version) >= OLDEST), None)


def answers(python: str, version: str) -> bool:
    """Whether a program is a Python of this minor version."""
    return any(named == version for named, _ in _answers([python]))


def _programs(name: str, *further: Path) -> Iterator[str]:
    for folder in _folders(*further):
        if os.access(folder / name, os.X_OK):
            yield str(folder / name)


def _numbered() -> Iterator[str]:
    """All programs with a minor version in their name, the newest first."""
    programs = [
        path for folder in _folders() for path in folder.glob("python3.*") if NUMBERED.fullmatch(path.name)
    ]
    yield from map(str, sorted(programs, key=lambda path: int(path.suffix[1:]), reverse=True))


def _folders(*further: Path) -> Iterator[Path]:
    """The folders of PATH, and those in which version managers keep Pythons."""
    yield from (Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for versions in (pyenv / "versions", Path.home() / ".local" / "share" / "uv" / "python", *further):
        yield from sorted(versions.glob("*/bin"))


def _answers(programs: Iterable[str], question: str = QUESTION) -> Iterator[tuple[str, str]]:
    """The minor version and the path that each of these programs names; nothing of one that does not answer."""
    for program in programs:
        try:
            done = subprocess.run(  # noqa: S603 -- an interpreter of this machine
                [program, "-I", "-c", question],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=True,
                timeout=ANSWER_SECONDS,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        version, _, python = done.stdout.strip().partition(" ")
        yield version, python


def _parsed(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


if __name__ == "__main__":
    chosen = find_for_environment()
    if chosen is None:
        sys.exit(1)
    sys.stdout.write(f"{chosen}\n")
