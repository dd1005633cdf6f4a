"""Makes machines for the tests: each has a home and a checkout of its own. They share the packages of this one."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stacks import pythons
from tests.machines.machine import Machine, new_machine
from tests.shared_folders import made_once
from tests.suite.parts import program

NewMachine = Callable[..., Machine]


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that this machine fetched before. They are links, because the machines write their own there."""
    return made_once(tmp_path_factory, "packages", _link_packages)


def _link_packages(folder: Path) -> None:
    asked = subprocess.run([program("uv"), "cache", "dir"], capture_output=True, text=True, check=True)
    fetched = Path(asked.stdout.strip())
    if fetched.is_dir() and fetched.stat().st_dev == folder.stat().st_dev:
        shutil.copytree(fetched, folder, symlinks=True, copy_function=os.link, dirs_exist_ok=True)


@pytest.fixture
def machine(tmp_path: Path, packages: Path) -> NewMachine:
    """A machine with one Python, of this minor version; skips where this machine has none to lend."""

    def made(version: str, *, name: str = "lab", home: str = "home", packages: Path = packages) -> Machine:
        python = pythons.find(version)
        if python is None:
            pytest.skip(f"no Python {version} answers on this machine: the set-up by it was not tried")
        return new_machine(tmp_path / name, tmp_path / home, packages, {"python3": python})

    return made
