"""Where the four programs of the control plane come from: a folder the user names, our cache, or a build.

It owns the cache folder and its lock; how the programs are started is control_plane.py's business.
Kubernetes' official release files are not among the sources: nothing unchecked is run, and no checksum
of them could be confirmed where this was written.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from lamplighter.errors import BadInput, OutsideFailed
from local.kubernetes.toolchain import find_go

VERSION = "v1.35.4"
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
#: Folders with the four programs; the second is the one that Kubernetes' own test tools read.
ASSET_VARIABLES = ("LAMPLIGHTER_KUBERNETES_ASSETS", "KUBEBUILDER_ASSETS")

_SOURCES = Path(__file__).parent / "controlplane"
#: What `go build -v` prints for this module: one line a package. Only for showing progress.
_PACKAGES = 2660

Progress = Callable[[str], None]


def find_programs(progress: Progress) -> Path:
    """The folder that holds the four programs, built when there is none yet (minutes, once a user).

    Raises BadInput for a named folder without them, OutsideFailed when the build does not work out.
    """
    for variable in ASSET_VARIABLES:
        named = os.environ.get(variable)
        if named:
            missing = [program for program in PROGRAMS if not (Path(named) / program).exists()]
            if missing:
                raise BadInput(f"{variable}={named}: {', '.join(missing)} should be in that folder")
            return Path(named)
    cached = cache_folder() / VERSION
    if _complete(cached):
        return cached
    with _only_one_build(cached.parent, progress):
        if not _complete(cached):
            _build(cached, progress)
    return cached


def cache_folder() -> Path:
    """The user's cache for control planes; it survives `git clean` and is shared by all checkouts."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "lamplighter" / "kubernetes"


def _complete(folder: Path) -> bool:
    return all((folder / program).exists() for program in PROGRAMS)


@contextmanager
def _only_one_build(folder: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock of the cache; the system releases it when its holder dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("Another build of the Kubernetes control plane is under way; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: Path, progress: Progress) -> None:
    """Build beside the final place and move it there whole, so that nobody ever sees half of it."""
    go = find_go(cache_folder().parent / "go", progress)
    progress(
        f"Building Kubernetes {VERSION} from its published source: about four minutes, once. "
        "No package index carries a control plane, and an imitation would not behave like one."
    )
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder.parent) as scratch:
        work = Path(scratch) / "source"
        work.mkdir()
        for source in _SOURCES.iterdir():
            (work / source.name).write_bytes(source.read_bytes())
        result = Path(scratch) / "programs"
        result.mkdir()
        _compile(go, work, result / "kubernetes", progress)
        for program in PROGRAMS:
            (result / program).symlink_to("kubernetes")
        folder.mkdir(parents=True, exist_ok=True)
        result.replace(folder)
    for leftover in ("path", "modules", "build"):
        shutil.rmtree(cache_folder().parent / "go" / leftover, ignore_errors=True)
    progress(f"Kubernetes {VERSION} is built and kept in {folder}.")


def _compile(go: Path, work: Path, output: Path, progress: Progress) -> None:
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
    command = [str(go), "build", "-v", "-trimpath", "-tags", "grpcnotrace"]
    command += ["-ldflags", " ".join(["-s", "-w", *settings]), "-o", str(output), "."]
    fetched = cache_folder().parent / "go"
    environment = os.environ | {
        "CGO_ENABLED": "0",
        # Two compilers at a time keep the peak near 2 GB, which small laptops have. What is fetched must
        # be what go.sum says.
        "GOFLAGS": "-mod=readonly -modcacherw -p=2",
        "GOTOOLCHAIN": "local",
        # Nothing outside the user's cache folder, and a build that is broken off is taken up again.
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
    except (BadInput, OutsideFailed) as error:
        sys.exit(str(error))
