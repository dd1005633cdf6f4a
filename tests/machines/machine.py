"""A person's machine: a fresh checkout, a home, and the programs that PATH has. The tester's own home stays as it is.

It has every program of this machine except Python, Node, Go and what installs packages. Python is added by name.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.checkout import ROOT

#: Programs that a machine without Python, Node and Go does not have.
_LEFT_OUT = re.compile(r"(python|pip|uv|pyenv|node|npm|npx|corepack|go|gofmt)(x|[0-9.]+)?")
#: How this machine reaches a package index: certificates, proxies, an index of its own.
_NETWORK = re.compile(r"(?i)(.*_proxy|.*_CERTS?|.*_CERT_(FILE|DIR)|.*_CA_BUNDLE|PIP_.*|UV_.*|GOPROXY)")
#: A folder that is not there: uv finds no Python to download, and asks for packages as often as ever.
NO_DOWNLOAD = {"UV_PYTHON_INSTALL_MIRROR": "file:///no/pythons"}
#: CloudFormation's rules take as long as a synthesis.
WITHOUT_RULES = {"CDK_VALIDATION": "false"}
#: A program that stands for a version that its version manager does not have.
SHIM = 'echo "pyenv: $(basename "$0"): command not found" >&2; exit 127'


@dataclass(frozen=True)
class Machine:
    """Its folders, and the packages that were fetched before."""

    checkout: Path
    home: Path
    packages: Path

    @property
    def programs(self) -> Path:
        return self.home.with_name(f"{self.home.name}-programs")

    @property
    def environment(self) -> dict[str, str]:
        network = {name: value for name, value in os.environ.items() if _NETWORK.fullmatch(name)}
        own = {"HOME": str(self.home), "PATH": str(self.programs)}
        packages = dict.fromkeys(("PIP_CACHE_DIR", "UV_CACHE_DIR"), str(self.packages))
        return {**network, **own, **packages, **NO_DOWNLOAD, **WITHOUT_RULES}

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.checkout,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *command: str) -> subprocess.Popen[str]:
        """The same, in a process group of its own, as a terminal starts it: SIGINT ends it."""
        return subprocess.Popen(
            ("/usr/bin/env", "--default-signal=INT", *command),
            cwd=self.checkout,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def add(self, name: str, script: str) -> None:
        program = self.programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)


def new_machine(checkout: Path, home: Path, packages: Path, pythons: Mapping[str, str]) -> Machine:
    """A machine whose PATH has these Pythons, by their names. Its checkout has no commits, as an archive has none."""
    machine = Machine(checkout, home, packages)
    home.mkdir()
    machine.programs.mkdir()
    for folder in reversed(os.get_exec_path()):
        for program in Path(folder).glob("*"):
            if not _LEFT_OUT.fullmatch(program.name) and os.access(program, os.X_OK):
                link = machine.programs / program.name
                link.unlink(missing_ok=True)
                link.symlink_to(program)
    for name, python in pythons.items():
        machine.add(name, f'exec "{python}" "$@"')
    _clone(checkout)
    return machine


def _clone(checkout: Path) -> None:
    """Copies the files that git knows or would add."""
    command = ["/usr/bin/env", "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():  # not removed since the last commit
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name, follow_symlinks=False)
