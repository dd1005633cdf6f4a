"""A long run leaves out the files that have no test of it, by their text."""

import os
import re
import subprocess
from pathlib import Path

from tests.checkout import ROOT
from tests.suite.parts import program

MARKED = "import pytest\n@pytest.mark.{}\ndef test_it(): pass\n"
FILES = {
    "long": MARKED.format("long"),
    "longer": MARKED.format("longer"),
    "flaky": MARKED.format("once_flaky('a cause')"),
    "property": "from hypothesis import given, strategies as st\n@given(st.none())\ndef test_it(it): pass\n",
    "short": "def test_it(): pass\n",
}
#: A mark or a property that an importing file could take over without a word.
HANDED_ON = re.compile(r"mark\.long|mark\.once_flaky|@given")


def test_a_long_run_imports_only_files_with_a_test_of_it(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / f"test_{name}.py").write_text(f"print('imported: {name}')\n{text}")

    done = subprocess.run(
        [program("pytest"), "-qs", "-p", "tests.suite.collection", "-c", ROOT / "pyproject.toml", tmp_path],
        cwd=ROOT,
        env={**os.environ, "LAMPLIGHTER_TESTS": "long"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert set(re.findall(r"imported: (\w+)", done.stdout)) == FILES.keys() - {"short"}, done.stderr


def test_no_other_module_has_a_test_of_a_long_run() -> None:
    others = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    assert [path for path in others if HANDED_ON.search(path.read_text("utf-8"))] == []
