"""Finds a Python of the functions' minor version on the machine that synthesises: it compiles their bytecode.

It is this interpreter, or another one on the machine, or one that uv downloads into the checkout. `make synth` looks
for one in a step before the synthesis, which uses that one and no network.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from stacks import pythons

CHECKOUT = Path(__file__).resolve().parent.parent
VERSION = pythons.RUNTIME
FOLDER = CHECKOUT / ".build" / "python"
FOUND = FOLDER / "found"
"""The file with the path of the Python that was found."""
DOWNLOAD_SECONDS = 300


@cache
def interpreter() -> str | None:
    """The path of such a Python; None if none was found, or if the one that was found does not answer any more."""
    if "{}.{}".format(*sys.version_info) == VERSION:
        return sys.executable
    path = FOUND.read_text("utf-8") if FOUND.exists() else ""
    return path if path and pythons.answers(path, VERSION) else None


def find() -> None:
    """Looks for one if none was found before, and downloads one if the machine has none."""
    if interpreter() is None:
        path = pythons.find(VERSION, FOLDER)
        if path is None:
            _download()
            path = pythons.find(VERSION, FOLDER)
        FOLDER.mkdir(parents=True, exist_ok=True)
        FOUND.write_text(path or "", "utf-8")


def _download() -> None:
    """Downloads a standalone build by uv, which knows its digest. A missing network is no error."""
    command = [sys.executable, "-m", "uv", "python", "install", "--quiet", "--no-bin"]
    try:
        subprocess.run(  # noqa: S603 -- our own interpreter
            [*command, "--install-dir", str(FOLDER), VERSION],
            capture_output=True,
            check=False,
            timeout=DOWNLOAD_SECONDS,
            env={"UV_HTTP_TIMEOUT": "20", "UV_HTTP_RETRIES": "1", **os.environ},
        )
    except subprocess.TimeoutExpired:
        return


if __name__ == "__main__":
    find()
