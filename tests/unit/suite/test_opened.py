"""A session names each tracked file that a test opens and that the key of its part leaves out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.suite.opened import VARIABLE, Opened, hook
from tests.suite.running import NOT_IN_KEY

TEST = "tests/unit/lab/test_reference.py"
TRACKED = ["lab.yaml", "tests/unit/lab/test_reference.py", "docs/reference/lab.md", "docs/site.py"]


def opened(*files: str) -> Opened:
    part = {"tests": ["tests/unit/lab"], "ignored": ["tests/unit/lab/other"], "files": list(files)}
    found = Opened({"tracked": TRACKED, "parts": {"unit": part}})
    found.begin(ROOT / TEST)
    return found


@pytest.mark.parametrize(
    ("event", "path", "problem"),
    [
        ("open", ROOT / "lab.yaml", "lab.yaml"),
        ("open", "lab.yaml", "lab.yaml"),
        ("open", ROOT / "docs/__pycache__/site.cpython-313.pyc", "docs/site.py"),
        ("os.listdir", ROOT / "docs/reference", "docs/reference/lab.md"),
        ("os.scandir", ROOT / "docs/reference", "docs/reference/lab.md"),
        ("open", ROOT / TEST, None),  # it is in the key
        ("open", ROOT / ".build/made.json", None),  # Git does not track it
        ("open", "/etc/hosts", None),
        ("import", ROOT / "lab.yaml", None),
    ],
)
def test_a_file_outside_of_the_key_is_named(event: str, path: object, problem: str | None) -> None:
    found = opened(TEST)

    found.hear(event, (str(path), "r", 0))

    assert [each.split()[5].strip(",") for each in found.problems] == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("by", "heard"), [("<frozen importlib._bootstrap_external>", False), ("tests/unit/test.py", True)]
)
def test_a_folder_that_python_lists_for_a_module_is_none_that_a_test_reads(by: str, heard: bool) -> None:
    found = opened(TEST)
    program = compile("hook('os.listdir', (folder,))", by, "exec")

    exec(program, {"hook": hook(found.hear), "folder": str(ROOT / "docs/reference")})  # noqa: S102 -- as if in that file

    assert bool(found.problems) is heard


def test_a_folder_inside_another_that_is_deleted_is_none_of_the_checkout() -> None:
    found = opened(TEST)

    found.hear("open", ("docs", None, os.O_RDONLY))

    assert found.problems == []


def test_each_part_is_compared_with_its_own_key() -> None:
    found = opened("lab.yaml")
    found.hear("open", (str(ROOT / "lab.yaml"), "r", 0))
    found.begin(ROOT / "tests/unit/lab/other/test_other.py")
    found.hear("open", (str(ROOT / "docs/site.py"), "r", 0))

    assert found.problems == []


@pytest.mark.parametrize("workers", ["0", "1"])
def test_the_session_names_it(tmp_path: Path, workers: str) -> None:
    part = {"tests": [TEST], "ignored": [], "files": [TEST]}
    reach = tmp_path / "reach.json"
    reach.write_text(json.dumps({"tracked": ["lab.yaml", TEST], "parts": {"unit": part}}), "utf-8")

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tests.suite.opened",
            "-n",
            workers,
            "-k",
            "default_lab",
            TEST,
        ],
        cwd=ROOT,
        env={**os.environ, VARIABLE: str(reach)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert done.stdout.count(NOT_IN_KEY) == 1, done.stdout
    assert f"{NOT_IN_KEY}a test of unit opened lab.yaml" in done.stdout
