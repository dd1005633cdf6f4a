"""A test that was flaky is repeated in a long run, on a loaded machine, and the page of flaky tests has it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.steady.once_flaky import BUSY_PROGRAMS, MARKER, TIMES

MARKED = re.compile(rf"^@pytest\.mark\.{MARKER}\(", re.MULTILINE)
SAMPLE = f"""
import os
from pathlib import Path
import pytest

def busy():
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if parent == str(os.getpid()):
            yield process

@pytest.mark.{MARKER}("a cause")
def test_one():
    print("busy:", len(list(busy())))

def test_two():
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the processes of a test")
@pytest.mark.parametrize(("length", "passed", "busy"), [("long", TIMES + 1, BUSY_PROGRAMS), ("", 2, 0)])
def test_a_long_run_repeats_it_on_a_loaded_machine(
    tmp_path: Path, length: str, passed: int, busy: int
) -> None:
    (tmp_path / "test_sample.py").write_text(SAMPLE, "utf-8")

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-s",
            "-p",
            "tests.steady.once_flaky",
            "-c",
            "/dev/null",
            str(tmp_path),
        ],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "LAMPLIGHTER_TESTS": length},
        capture_output=True,
        text=True,
        check=False,
    )

    assert f"{passed} passed" in done.stdout
    assert re.findall(r"busy: (\d+)", done.stdout) == [str(busy)] * (passed - 1)


def test_the_page_has_every_file_with_such_a_test() -> None:
    page = (ROOT / "docs" / "explanation" / "flaky-tests.md").read_text("utf-8")
    files = [file for file in (ROOT / "tests").rglob("test_*.py") if MARKED.search(file.read_text("utf-8"))]

    names = {str(file.relative_to(ROOT / "tests")) for file in files}
    assert names
    assert {name for name in names if name not in page} == set()
