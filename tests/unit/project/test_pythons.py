"""A Python counts only if it answers with its version, for the set-up, the synthesis and the tests."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stacks import pythons, runtime_python

Program = Callable[[str, str], str]
SHIM = 'echo "pyenv: python3.13: command not found" >&2; exit 127'


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Writes a program into a folder of the home; PATH has its folders `first` and `second`."""

    def written(path: str, answer: str) -> str:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{answer}\n")
        file.chmod(0o755)
        return str(file)

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    return written


def of(version: str) -> str:
    return f'echo {version} "$0"'


def test_a_shim_without_a_version_is_passed_over(program: Program) -> None:
    program("first/python3.13", SHIM)
    assert pythons.find("3.13") is None

    second = program("second/python3.13", of("3.13"))
    assert pythons.find("3.13") == second


def test_a_version_behind_the_shims_of_pyenv_is_found(program: Program) -> None:
    program("first/python3.13", SHIM)
    kept = program(".pyenv/versions/3.13.5/bin/python3.13", of("3.13"))

    assert pythons.find("3.13") == kept


@pytest.mark.parametrize("answer", [of("3.12"), "exit 0", "echo; exec sleep 60", SHIM])
def test_a_name_is_no_answer(program: Program, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr(pythons, "ANSWER_SECONDS", 0.5)
    program("first/python3.13", answer)

    assert pythons.find("3.13") is None


def test_the_environment_gets_lambdas_version_before_the_users_own_and_that_before_the_newest(
    program: Program,
) -> None:
    program("first/python3.9", of("3.9"))
    assert pythons.find_for_environment() is None

    for path, version in (
        ("second/python3.12", "3.12"),
        ("second/python3.14", "3.14"),
        ("second/python3", "3.11"),
        ("second/python3.13", "3.13"),
    ):
        better = program(path, of(version))
        assert pythons.find_for_environment() == better


def test_a_remembered_python_that_does_not_answer_any_more_is_forgotten(
    program: Program, tmp_path: Path
) -> None:
    def found() -> str | None:
        runtime_python.find(tmp_path, "3.99")
        return runtime_python.remembered(tmp_path, "3.99")

    first = program("first/python3.99", of("3.99"))
    assert found() == first
    program("first/python3.99", SHIM)
    second = program("second/python3.99", of("3.99"))
    assert found() == second
    program("second/python3.99", SHIM)
    assert found() is None


def test_the_program_prints_the_one_for_the_environment_and_fails_without_one(program: Program) -> None:
    command = [sys.executable, pythons.__file__]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1

    own = program("second/python3", of("3.11"))

    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{own}\n"
