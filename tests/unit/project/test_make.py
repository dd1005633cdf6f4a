"""What every `make` decides first: whether `.venv` is whole, and which Python makes one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT

SHOW = "show: ; @echo '$(PYTHON)'"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the decision reads of a checkout, in a folder whose name is no plain word."""
    folder = tmp_path / "Käse brot"
    (folder / "stacks").mkdir(parents=True)
    for name in ("Makefile", "stacks/pythons.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def environment_of(checkout: Path) -> Path:
    """A whole `.venv` of this checkout."""
    folder = checkout / ".venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(sys.executable)
    (folder / ".begun").write_text(f"{checkout.resolve()}\n")
    return folder


def chosen(checkout: Path, path: str = os.environ["PATH"]) -> str:
    done = subprocess.run(
        ["/usr/bin/env", "make", "--silent", f"--eval={SHOW}", "show"],
        cwd=checkout,
        env={"PATH": path, "HOME": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_whole_environment_stays(checkout: Path) -> None:
    environment = environment_of(checkout)

    assert chosen(checkout) == ".venv/bin/python"
    assert environment.exists()


def test_an_environment_that_an_interrupted_set_up_left_is_removed(checkout: Path) -> None:
    environment = environment_of(checkout)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (environment / ".changing").write_text(f"{ended.pid}\n")

    assert chosen(checkout) != ".venv/bin/python"
    assert not environment.exists()


def test_an_environment_that_another_make_is_changing_stays(checkout: Path) -> None:
    environment = environment_of(checkout)
    (environment / ".changing").write_text(f"{os.getpid()}\n")

    chosen(checkout)

    assert environment.exists()


def test_an_environment_whose_python_is_gone_is_removed(checkout: Path) -> None:
    environment = environment_of(checkout)
    (environment / "bin/python").unlink()
    (environment / "bin/python").symlink_to("/nowhere/python3.13")

    chosen(checkout)

    assert not environment.exists()


def test_the_environment_of_a_copied_checkout_is_removed(checkout: Path) -> None:
    environment_of(checkout)
    copy = checkout.with_name("copy")
    shutil.copytree(checkout, copy, symlinks=True)

    chosen(copy)

    assert not (copy / ".venv").exists()
    assert (checkout / ".venv").exists()


def test_an_environment_that_is_a_link_stays(checkout: Path) -> None:
    environment_of(checkout)
    other = checkout.with_name("other")
    shutil.copytree(checkout, other, ignore=shutil.ignore_patterns(".venv"))
    (other / ".venv").symlink_to(checkout / ".venv")

    chosen(other)

    assert (other / ".venv").is_symlink()


def test_an_environment_that_somebody_else_made_stays(checkout: Path) -> None:
    (checkout / ".venv").mkdir()

    chosen(checkout)

    assert (checkout / ".venv").exists()


def test_a_shim_that_does_not_answer_is_not_chosen(checkout: Path, tmp_path: Path) -> None:
    shims, versions = tmp_path / "shims", tmp_path / "versions"
    for folder, name, answer in ((shims, "python3", "exit 127"), (versions, "python3.13", "echo 3.13 $0")):
        folder.mkdir()
        (folder / name).write_text(f"#!/bin/sh\n{answer}\n")
        (folder / name).chmod(0o755)
    (versions / "python").symlink_to(sys.executable)

    assert chosen(checkout, f"{shims}:{versions}:{os.environ['PATH']}") == f"{versions}/python3.13"
