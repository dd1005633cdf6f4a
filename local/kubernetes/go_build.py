"""Builds a program from a pinned Go module, with the lab's clock in it: once for each user.

This file has the lock, the folder of the user's cache, and the call of `go build`. binaries.py says how the control
plane is built, and karpenter/controller.py how Karpenter's controller is. Official release files and folders of the
user are not used, because those programs take the machine's time, and ours take the lab's (overlay.py).
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import local
from lamplighter.errors import OutsideFailed
from local.cache_folder import cache_folder
from local.kubernetes.overlay import write_overlay
from local.kubernetes.toolchain import OLDEST, Version, find_go

#: The file that is added to Go's package time.
CLOCK = Path(__file__).parent / "controlplane" / "overlay" / "labtime.go"
_CHILD_PROCESS = Path(local.__file__).with_name("child_process.py")

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Build:
    """One program. Its result is kept in a folder of the cache that is named for its version and its sources."""

    #: What people call it: "Kubernetes v1.35.4".
    title: str
    version: str
    #: The folder of the cache for all its versions.
    family: str
    #: go.mod, go.sum and Go files, without the clock.
    sources: tuple[Path, ...]
    #: What is built, as `go build` names it.
    package: str
    #: The value of -ldflags.
    linking: str
    #: The program, and the other names that it has.
    program: str
    aliases: tuple[str, ...]
    #: How many packages `go build -v` prints; it only shows progress.
    packages: int
    #: The announcement before the build: how long it takes, and why there is one.
    announcement: str
    oldest_go: Version = OLDEST

    @property
    def folder(self) -> Path:
        """The place of the result: a change of our sources makes a new build."""
        digest = hashlib.sha256()
        for source in sorted((*self.sources, CLOCK)):
            digest.update(source.read_bytes())
        return cache_folder() / self.family / f"{self.version}-{digest.hexdigest()[:8]}"

    @property
    def complete(self) -> bool:
        """Whether the result is in the cache."""
        return all((self.folder / name).exists() for name in self.aliases or (self.program,))


def find_built(build: Build, progress: Progress) -> Path:
    """The folder with the program. It is built if the cache does not have it (minutes, once for each user).

    Raises OutsideFailed when the build fails.
    """
    if build.complete:
        return build.folder
    with _only_one_build(build, progress):
        if not build.complete:
            _build(build, progress)
    return build.folder


def _go_folder() -> Path:
    return cache_folder() / "go"


@contextmanager
def _only_one_build(build: Build, progress: Progress) -> Iterator[None]:
    """Holds the lock of all builds: two at a time need more memory than small laptops have.

    The system releases it when its holder dies.
    """
    _go_folder().mkdir(parents=True, exist_ok=True)
    with (_go_folder() / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"Another build is under way; {build.title} waits for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(build: Build, progress: Progress) -> None:
    """Builds in a temporary folder and moves the result to its place, so that nobody sees an incomplete build."""
    began = time.monotonic()
    go = find_go(_go_folder(), progress, build.oldest_go)
    progress(build.announcement)
    build.folder.parent.mkdir(parents=True, exist_ok=True)
    # What a build left that was killed: nobody else holds the lock.
    for left in build.folder.parent.glob(".build-*"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=build.folder.parent) as scratch:
        work = Path(scratch) / "source"
        work.mkdir()
        for source in build.sources:
            (work / source.name).write_bytes(source.read_bytes())
        result = Path(scratch) / "programs"
        result.mkdir()
        # Beside the module, because it is no part of it.
        clock = Path(scratch) / CLOCK.name
        clock.write_bytes(CLOCK.read_bytes())
        overlay = write_overlay(go, clock, Path(scratch))
        command = [str(go), "build", "-v", "-trimpath", "-overlay", str(overlay), "-tags", "grpcnotrace"]
        command += ["-ldflags", build.linking, "-o", str(result / build.program), build.package]
        _run(build, command, work, progress)
        for alias in build.aliases:
            (result / alias).symlink_to(build.program)
        build.folder.mkdir(parents=True, exist_ok=True)
        result.replace(build.folder)
    shutil.rmtree(_go_folder() / build.family, ignore_errors=True)
    minutes = (time.monotonic() - began) / 60
    progress(f"{build.title} is built in {minutes:.1f} minutes and kept in {build.folder}.")


def _run(build: Build, command: list[str], work: Path, progress: Progress) -> None:
    fetched = _go_folder() / build.family
    environment = os.environ | {
        "CGO_ENABLED": "0",
        # Two compilers at a time keep the peak near 3 GB, which small laptops have. Downloads must match go.sum.
        "GOFLAGS": "-mod=readonly -modcacherw -p=2",
        "GOTOOLCHAIN": "local",
        # Nothing outside the user's cache folder. A later build continues an interrupted one.
        "GOPATH": str(fetched / "path"),
        "GOMODCACHE": str(fetched / "modules"),
        "GOCACHE": str(fetched / "build"),
    }
    tail: list[str] = []
    # Go does not outlive this process, which holds the lock.
    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(_CHILD_PROCESS), *command],
        cwd=work,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None  # noqa: S101  asked for above
        assert process.stdout is not None  # noqa: S101
        try:
            for number, line in enumerate(process.stdout, start=1):
                tail = [*tail[-20:], line.rstrip()]
                if number % 200 == 0:
                    progress(f"  {number} of about {build.packages} packages")
        except BaseException:
            process.stdin.close()
            raise
    if process.returncode != 0:
        raise OutsideFailed(
            f"go build of {build.title} ended with {process.returncode}; "
            f"its last lines were: {' / '.join(tail[-6:])}"
        )
