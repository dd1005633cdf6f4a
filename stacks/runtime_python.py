"""Finds a Python of the functions' minor version on the machine that synthesises: it compiles their bytecode.

It is this interpreter, or another one on the machine, or one that uv downloads into the checkout. `make synth` looks
for one in a step before the synthesis, which uses that one and no network.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
VERSION = "3.13"
"""The version of Lambda's runtime; bytecode is good for one minor version only."""
FOLDER = CHECKOUT / ".build" / "python"
FOUND = FOLDER / "found"
"""The file with the path of the Python that was found."""
DOWNLOAD_SECONDS = 300
ASK = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{VERSION}')"


def interpreter() -> str | None:
    """The path of such a Python; None if none was found."""
    if "{}.{}".format(*sys.version_info) == VERSION:
        return sys.executable
    path = FOUND.read_text("utf-8") if FOUND.exists() else ""
    return path if path and Path(path).exists() else None


def find() -> str | None:
    """The same. It looks for one first if none was found before, and downloads one if the machine has none."""
    if interpreter() is None:
        path = next(filter(_fits, _candidates()), None)
        FOLDER.mkdir(parents=True, exist_ok=True)
        FOUND.write_text(path or "", "utf-8")
    return interpreter()


def _candidates() -> Iterator[str]:
    on_path = shutil.which(f"python{VERSION}")
    if on_path:
        yield on_path
    yield from _below(Path.home() / ".pyenv" / "versions")
    _download()
    yield from _below(FOLDER)


def _below(folder: Path) -> Iterator[str]:
    yield from sorted(str(path) for path in folder.glob(f"*{VERSION}*/bin/python{VERSION}"))


def _fits(path: str) -> bool:
    try:
        return subprocess.run([path, "-I", "-c", ASK], capture_output=True, check=False).returncode == 0  # noqa: S603 -- an interpreter of this machine
    except OSError:
        return False


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
