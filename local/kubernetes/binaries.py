"""The four programs of the control plane: which module they are built from, and how they are stamped.

go_build.py builds and keeps them; control_plane.py starts them.
"""

from functools import partial
from pathlib import Path

from lamplighter.errors import OutsideFailed
from local.kubernetes.go_build import CLOCK, Build, Progress, find_built

VERSION = "v1.35.4"
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")

_SOURCES = Path(__file__).parent / "controlplane"


def find_programs(progress: Progress) -> Path:
    """The folder with the four programs. They are built if there are none yet (minutes, once for each user).

    Raises OutsideFailed when the build fails.
    """
    return find_built(control_plane(), progress)


def control_plane() -> Build:
    """One program with four names: it plays the component by whose name it is called (controlplane/main.go)."""
    return Build(
        title=f"Kubernetes {VERSION}",
        version=VERSION,
        family="kubernetes",
        sources=tuple(path for path in sorted(_SOURCES.rglob("*")) if path.is_file() and path != CLOCK),
        package=".",
        linking=_stamp(),
        program="kubernetes",
        aliases=PROGRAMS,
        packages=2660,
        announcement=f"Building Kubernetes {VERSION} from its published source: about four minutes, once. "
        "No package index carries a control plane, and an imitation would not behave like one.",
    )


def _stamp() -> str:
    """The version that the programs name, as Kubernetes' own release build writes it."""
    values = {
        "gitVersion": VERSION,
        "gitMajor": "1",
        "gitMinor": VERSION.split(".")[1],
        "gitTreeState": "clean",
        "gitCommit": "lamplighter",
        "buildDate": "2026-01-01T00:00:00Z",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    settings = [f"-X {package}.{key}={value}" for package in packages for key, value in values.items()]
    return " ".join(["-s", "-w", *settings])


if __name__ == "__main__":
    import sys

    try:
        find_programs(partial(print, flush=True))
    except OutsideFailed as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)  # as shells say it
