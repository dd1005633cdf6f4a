"""Finds a Python of the functions' minor version on the machine that synthesises: it compiles their bytecode.

It is this interpreter, or another one on the machine, or one that uv downloads into the build folder. `make synth`
looks for one in a step before the synthesis, which uses that one and no network.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from stacks import pythons

CHECKOUT = Path(__file__).resolve().parent.parent
VERSION = pythons.RUNTIME
BUILD = (
    CHECKOUT / ".build"
    if (CHECKOUT / "pyproject.toml").exists()
    else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lamplighter" / "build"
)
"""What takes long to build: in a checkout, or in the user's cache, as an installed package is not written to."""
FOLDER = BUILD / "python"
FOUND = "found"
"""The file with the path of the Python that was found."""
DOWNLOAD_SECONDS = 300


@cache
def interpreter() -> str | None:
    """The path of such a Python; None if none was found, or if the one that was found does not answer any more."""
    return remembered(FOLDER, VERSION)


def remembered(folder: Path, version: str) -> str | None:
    """The same for another version and another folder of what was found and downloaded."""
    if "{}.{}".format(*sys.version_info) == version:
        return sys.executable
    found = folder / FOUND
    path = found.read_text("utf-8") if found.exists() else ""
    return path if path and pythons.answers(path, version) else None


def find(folder: Path, version: str) -> None:
    """Looks for one if none was found before, and downloads one if the machine has none."""
    if remembered(folder, version) is None:
        path = pythons.find(version, folder)
        if path is None:
            _download(folder, version)
            path = pythons.find(version, folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FOUND).write_text(path or "", "utf-8")


def _download(folder: Path, version: str) -> None:
    """Downloads a standalone build by uv, which knows its digest. A missing network is no error."""
    command = [sys.executable, "-m", "uv", "python", "install", "--quiet", "--no-bin"]
    try:
        subprocess.run(  # noqa: S603 -- our own interpreter
            [*command, "--install-dir", str(folder), version],
            capture_output=True,
            check=False,
            timeout=DOWNLOAD_SECONDS,
            env={"UV_HTTP_TIMEOUT": "20", "UV_HTTP_RETRIES": "1", **os.environ},
        )
    except subprocess.TimeoutExpired:
        return


if __name__ == "__main__":
    find(FOLDER, VERSION)
