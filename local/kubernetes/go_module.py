"""Fetches one Go module with its files, which Go compares with the checksum that we keep."""

import json
import os
import subprocess
from pathlib import Path

from lamplighter.errors import OutsideFailed


def download(go: Path, module: str, pinned: Path, scratch: Path) -> Path:
    """The folder of the module, in `scratch`. `pinned` is the folder with the go.mod and go.sum that name it.

    Raises OutsideFailed when the module proxy does not provide it, or when it is not the pinned one.
    """
    for name in ("go.mod", "go.sum"):
        (scratch / name).write_bytes((pinned / name).read_bytes())
    environment = os.environ | {
        "GOFLAGS": "-mod=readonly -modcacherw",
        "GOTOOLCHAIN": "local",
        "GOPATH": str(scratch / "path"),
        "GOMODCACHE": str(scratch / "modules"),
        "GOCACHE": str(scratch / "build"),
    }
    command = [str(go), "mod", "download", "-json", module]
    done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OutsideFailed(f"go mod download {module}: {_why(done)}")
    return Path(json.loads(done.stdout)["Dir"])


def _why(done: subprocess.CompletedProcess[str]) -> str:
    """The first lines of the reason. Go writes it to either output."""
    try:
        said = str(json.loads(done.stdout)["Error"])
    except (ValueError, KeyError):
        said = done.stderr or done.stdout
    return " / ".join(line.strip() for line in said.strip().splitlines()[:4])
