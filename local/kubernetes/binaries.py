"""The four programs of the control plane, from our cache or from a build.

This file has the cache folder and its lock; control_plane.py starts the programs. Official release files and folders of
the user are not used, because those programs take the machine's time, and ours take the lab's (overlay.py).
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from lamplighter.errors import OutsideFailed
from local.cache_folder import cache_folder
from local.kubernetes.overlay import write_overlay
from local.kubernetes.toolchain import find_go

VERSION = "v1.35.4"
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")

_SOURCES = Path(__file__).parent / "controlplane"
#: The file that is added to Go's package time.
_CLOCK = "labtime.go"
#: What `go build -v` prints for this module: one line for each package. It only shows progress.
_PACKAGES = 2660

Progress = Callable[[str], None]


def find_programs(progress: Progress) -> Path:
    """The folder with the four programs. They are built if there are none yet (minutes, once for each user).

    Raises OutsideFailed when the build fails.
    """
    cached = kubernetes_cache() / build_name()
    if _complete(cached):
        return cached
    with _only_one_build(cached.parent, progress):
        if not _complete(cached):
            _build(cached, progress)
    return cached


def kubernetes_cache() -> Path:
    """The user's cache for control planes. It survives `git clean`, and all checkouts share it."""
    return cache_folder() / "kubernetes"


def build_name() -> str:
    """The version and the sources of the build: a change of our sources makes a new build."""
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(source.read_bytes())
    return f"{VERSION}-{digest.hexdigest()[:8]}"


def _sources() -> list[Path]:
    return sorted(path for path in _SOURCES.rglob("*") if path.is_file())


def _complete(folder: Path) -> bool:
    return all((folder / program).exists() for program in PROGRAMS)


@contextmanager
def _only_one_build(folder: Path, progress: Progress) -> Iterator[None]:
    """Holds the lock of the cache. The system releases it when its holder dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("Another build of the Kubernetes control plane is under way; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: Path, progress: Progress) -> None:
    """Builds in a temporary folder and moves the result to its place, so that nobody sees an incomplete build."""
    go = find_go(kubernetes_cache().parent / "go", progress)
    progress(
        f"Building Kubernetes {VERSION} from its published source: about four minutes, once. "
        "No package index carries a control plane, and an imitation would not behave like one."
    )
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder.parent) as scratch:
        work = Path(scratch) / "source"
        work.mkdir()
        for source in _sources():
            (work / source.name).write_bytes(source.read_bytes())
        result = Path(scratch) / "programs"
        result.mkdir()
        # Beside the module, because it is no part of it.
        clock = (work / _CLOCK).replace(Path(scratch) / _CLOCK)
        overlay = write_overlay(go, clock, Path(scratch))
        _compile(go, work, overlay, result / "kubernetes", progress)
        for program in PROGRAMS:
            (result / program).symlink_to("kubernetes")
        folder.mkdir(parents=True, exist_ok=True)
        result.replace(folder)
    for leftover in ("path", "modules", "build"):
        shutil.rmtree(kubernetes_cache().parent / "go" / leftover, ignore_errors=True)
    progress(f"Kubernetes {VERSION} is built and kept in {folder}.")


def _compile(go: Path, work: Path, overlay: Path, output: Path, progress: Progress) -> None:
    stamp = {
        "gitVersion": VERSION,
        "gitMajor": "1",
        "gitMinor": VERSION.split(".")[1],
        "gitTreeState": "clean",
        "gitCommit": "lamplighter",
        "buildDate": "2026-01-01T00:00:00Z",
    }
    stamped = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    settings = [f"-X {package}.{key}={value}" for package in stamped for key, value in stamp.items()]
    command = [str(go), "build", "-v", "-trimpath", "-overlay", str(overlay), "-tags", "grpcnotrace"]
    command += ["-ldflags", " ".join(["-s", "-w", *settings]), "-o", str(output), "."]
    fetched = kubernetes_cache().parent / "go"
    environment = os.environ | {
        "CGO_ENABLED": "0",
        # Two compilers at a time keep the peak near 2 GB, which small laptops have. Downloads must match go.sum.
        "GOFLAGS": "-mod=readonly -modcacherw -p=2",
        "GOTOOLCHAIN": "local",
        # Nothing outside the user's cache folder. A later build continues an interrupted one.
        "GOPATH": str(fetched / "path"),
        "GOMODCACHE": str(fetched / "modules"),
        "GOCACHE": str(fetched / "build"),
    }
    tail: list[str] = []
    with subprocess.Popen(
        command, cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101  asked for above
        try:
            for number, line in enumerate(process.stdout, start=1):
                tail = [*tail[-20:], line.rstrip()]
                if number % 200 == 0:
                    progress(f"  {number} of about {_PACKAGES} packages")
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise OutsideFailed(
            f"go build of Kubernetes {VERSION} ended with {process.returncode}; "
            f"its last lines were: {' / '.join(tail[-6:])}"
        )


if __name__ == "__main__":
    import sys

    try:
        find_programs(partial(print, flush=True))
    except OutsideFailed as error:
        sys.exit(str(error))
