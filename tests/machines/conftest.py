"""Makes machines for the tests: each has a home and a checkout of its own. They share the packages that one fetched."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stacks import pythons
from tests.machines.machine import Machine, new_machine

NewMachine = Callable[..., Machine]


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packages")


@pytest.fixture
def machine(tmp_path: Path, packages: Path) -> NewMachine:
    """A machine with one Python, of this minor version; skips where this machine has none to lend."""

    def made(version: str, *, name: str = "lab", home: str = "home") -> Machine:
        python = pythons.find(version)
        if python is None:
            pytest.skip(f"no Python {version} answers on this machine: the set-up by it was not tried")
        return new_machine(tmp_path / name, tmp_path / home, packages, {"python3": python})

    return made
