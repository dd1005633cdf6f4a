"""A fresh checkout is set up, synthesises, and passes the tests that look at the machine, wherever it stands."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stacks import bytecode
from tests.machines.conftest import NewMachine
from tests.machines.machine import SHIM, Machine
from tests.steady.hang import await_value

pytestmark = pytest.mark.long

#: Tests that run Lambda's Python, start programs or write files, and need no control plane.
OF_THE_MACHINE = (
    "tests/infra/stacks/test_app.py::test_a_lab_of_a_name_alone_is_built_without_credentials_or_network",
    "tests/infra/functions/test_bytecode.py::test_every_source_file_has_bytecode_that_is_never_checked",
    "tests/unit/gpu/test_cluster_authority.py",
    "tests/unit/project/test_make.py",
    "tests/local/test_child_process.py",
)


def synthesise(machine: Machine) -> subprocess.CompletedProcess[str]:
    done = machine.run("make", "synth")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (machine.checkout / "cdk.out/manifest.json").exists()
    return done


def set_up_for_tests(machine: Machine) -> subprocess.CompletedProcess[str]:
    """What `make test` does first, without the control plane."""
    done = machine.run("make", "--silent", "-j4", "to-synth", ".venv/.checks")
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def pass_tests(machine: Machine) -> str:
    """Runs the tests of the machine there. What pytest prints."""
    done = machine.run(".venv/bin/pytest", "-q", "-p", "no:cacheprovider", *OF_THE_MACHINE)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("version", ["3.12", "3.14"])
def test_each_python_is_enough_without_node_go_and_anything_in_the_home(
    machine: NewMachine, tmp_path: Path, version: str
) -> None:
    done = synthesise(machine(version, packages=tmp_path / "no packages"))

    assert f"Setting up .venv with Python {version}." in done.stdout
    assert done.stderr == f"{bytecode.WITHOUT}\n"


def test_shims_without_a_version_fail_nothing_and_one_reason_says_what_was_not_tried(
    machine: NewMachine,
) -> None:
    beside = machine("3.11")
    for name in ("python", "python3.12", "python3.13"):
        beside.add(name, SHIM)

    done = set_up_for_tests(beside)
    assert "Setting up .venv with Python 3.11." in done.stdout
    assert done.stderr == ""

    [reason] = set(re.findall("SKIPPED .*?: (.*)", pass_tests(beside)))
    assert "no Python 3.13, Lambda's version, answered" in reason


@pytest.mark.parametrize("target", ["demo", "test"])
def test_a_home_that_cannot_be_written_is_one_line_and_nothing_is_set_up(
    machine: NewMachine, tmp_path: Path, target: str
) -> None:
    closed = machine("3.11")
    (tmp_path / "file").touch()

    done = closed.run("make", target, HOME=str(tmp_path / "file"))

    assert done.returncode == 2
    [line] = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert line.startswith(f"{tmp_path}/file/.cache/lamplighter cannot be written (Not a directory)")
    assert done.stdout == ""
    assert not (closed.checkout / ".venv").exists()


def test_two_checkouts_of_one_home_are_set_up_at_once_and_a_path_may_have_a_blank_and_any_letter(
    machine: NewMachine, tmp_path: Path
) -> None:
    first = machine("3.13", name="Käse brot/lab", home="Müller's home")
    second = Machine(tmp_path / "second", first.home, first.packages)
    shutil.copytree(first.checkout, second.checkout)

    running = [each.start("make", "synth") for each in (first, second)]

    for process in running:
        said, _ = process.communicate()
        assert process.returncode == 0, said
    assert set_up_for_tests(first).stderr == ""
    assert "no Python 3.13" not in pass_tests(first)


def test_a_set_up_that_was_stopped_begins_again(machine: NewMachine) -> None:
    checkout = (stopped := machine("3.13")).checkout
    environment = checkout / ".venv"

    def installs_packages() -> bool:
        return all((environment / name).exists() for name in (".begun", ".changing"))

    stop(stopped, signal.SIGKILL, when=(environment / ".changing").exists)
    stop(stopped, signal.SIGINT, when=installs_packages)
    stop(stopped, signal.SIGKILL, when=lambda: any(checkout.glob(".build/layer-*")))

    assert synthesise(stopped).stderr == ""
    assert list(checkout.glob(".build/layer-*")) == []


def stop(machine: Machine, number: signal.Signals, *, when: Callable[[], bool]) -> None:
    """Starts a set-up, and stops all that it started, as a terminal does."""
    process = machine.start("make", "synth")
    await_value("the set-up comes so far, or ends", lambda: when() or process.poll() is not None)
    assert process.returncode is None, process.communicate()[0]
    os.killpg(process.pid, number)
    process.communicate()
