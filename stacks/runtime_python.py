"""A Python of the functions' own minor version, on the machine that synthesises: it makes their bytecode.

This interpreter where it is one, else one that the machine has, else one that uv downloads into the checkout.
Looking for one is a step of `make synth`; synthesis itself takes what was found then, and asks no network.
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
"""The file that keeps the path of the one that was found."""
DOWNLOAD_SECONDS = 300
ASK = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{VERSION}')"


def interpreter() -> str | None:
    """The path of one; None where none was found."""
    if "{}.{}".format(*sys.version_info) == VERSION:
        return sys.executable
    path = FOUND.read_text("utf-8") if FOUND.exists() else ""
    return path if path and Path(path).exists() else None


def find() -> str | None:
    """The same, looked for first where none was found before, and downloaded where the machine has none."""
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
    """What uv can get: its standalone builds, whose digests uv itself knows. No network is no error."""
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
