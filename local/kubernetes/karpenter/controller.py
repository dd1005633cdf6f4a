"""The program of Karpenter's controller for AWS: which module it is built from.

go_build.py builds and keeps it. Karpenter publishes container images and no programs, so without a build there is none.
A cluster without Karpenter never asks for it.
"""

import os
from functools import partial
from pathlib import Path

from lamplighter.errors import OutsideFailed
from local.kubernetes.go_build import Build, Progress, find_built
from local.kubernetes.toolchain import needed_go

VERSION = "1.14.3"
MODULE = "github.com/aws/karpenter-provider-aws"
PINNED = Path(__file__).parent
#: The variable with which CI demands it; elsewhere the tests that need it are skipped without it.
DEMANDED = "LAMPLIGHTER_KARPENTER"
_PROGRAM = "karpenter"


def find_controller(progress: Progress) -> Path:
    """The program. It is built if there is none yet (minutes, once for each user).

    Raises OutsideFailed when the build fails.
    """
    return find_built(controller(), progress) / _PROGRAM


def built_controller() -> Path | None:
    """The program, if it is built already."""
    build = controller()
    return build.folder / _PROGRAM if build.complete else None


def demanded() -> bool:
    """Whether a machine without the program is a failure."""
    return os.environ.get(DEMANDED) == "required"


def controller() -> Build:
    """The program `controller` of the pinned module, unchanged."""
    return Build(
        title=f"Karpenter {VERSION}",
        version=VERSION,
        family="karpenter",
        sources=(PINNED / "go.mod", PINNED / "go.sum"),
        package=f"{MODULE}/cmd/controller",
        # As in the Makefile of the module.
        linking=f"-s -w -X sigs.k8s.io/karpenter/pkg/operator.Version={VERSION}",
        program=_PROGRAM,
        aliases=(),
        packages=1195,
        announcement=f"Building Karpenter {VERSION} from its published source: about five minutes on two free cores, "
        "once. It is published as a container image only, and an imitation would not behave like it.",
        oldest_go=needed_go(PINNED),
    )


if __name__ == "__main__":
    import sys

    try:
        find_controller(partial(print, flush=True))
    except OutsideFailed as error:
        print(f"no Karpenter: {error}", flush=True)  # noqa: T201  make shows it
        sys.exit(demanded())
    except KeyboardInterrupt:
        sys.exit(130)  # as shells say it
