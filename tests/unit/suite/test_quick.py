"""`make quick` runs the tests that a change reaches, the nearest first, and says which it leaves out."""

import subprocess
import sys
import time
from pathlib import Path
from secrets import token_hex

import pytest

from tests.quick.graph import Graph
from tests.quick.nearest import nearest_tests
from tests.quick.until import VARIABLE
from tests.steady.hang import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph()


@pytest.mark.parametrize(
    ("changed", "first"),
    [
        ("tests/unit/commands/test_words.py", "test_words.py"),
        ("lambdas/lamplighter/domain/guard/guard.py", "test_guard.py"),
        # A verb is loaded by its name, without an import.
        ("cli/understand/status.py", "test_status.py"),
        ("README.md", "test_documents.py"),
        ("app.py", "test_app.py"),
    ],
)
def test_the_nearest_test_comes_first(graph: Graph, changed: str, first: str) -> None:
    assert nearest_tests(graph, [Path(changed)])[0].name == first


def test_a_file_of_data_leads_to_the_tests_of_who_reads_its_folder(graph: Graph) -> None:
    found = {
        file.name for file in nearest_tests(graph, [Path("lambdas/lamplighter/data/texts/en/lease.json")])
    }

    assert {"test_texts.py", "test_receipt_names_both.py"} <= found


def test_fixtures_lead_to_the_tests_that_may_ask_for_them(graph: Graph) -> None:
    found = nearest_tests(graph, [Path("tests/infra/conftest.py")])

    assert set((ROOT / "tests" / "infra").glob("test_*.py")) <= {ROOT / file for file in found}


def test_what_no_test_reads_leads_to_none(graph: Graph) -> None:
    assert nearest_tests(graph, [Path(token_hex(), token_hex())]) == ()


@pytest.mark.parametrize(("seconds", "told"), [(-1, "LEFT OUT: 1 tests"), (HANG_SECONDS, "1 passed")])
def test_no_test_begins_after_its_time_and_that_is_said(tmp_path: Path, seconds: float, told: str) -> None:
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n", "utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.quick.until", str(tmp_path)],
        cwd=tmp_path,
        env={
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            VARIABLE: str(time.time() + seconds),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert told in done.stdout
