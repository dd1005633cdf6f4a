"""`make test` prints the result of each part, prints all output of a failed part, and fails with it."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.suite.parts import BROWSER, LONG_SCENARIOS, MACHINES, PARTS, SESSIONS, Part, program
from tests.suite.queue import run
from tests.suite.running import Ended
from tests.suite.time_limit import VARIABLE


def part(name: str, *programs: str, **more) -> Part:
    return Part(name, tuple((sys.executable, "-c", program) for program in programs), **more)


def test_a_failed_part_is_shown_whole_and_fails_the_suite(capfd: pytest.CaptureFixture[str]) -> None:
    quiet = part("quiet", "print('one'); print('two')")
    broken = part("broken", "print('three'); print('four'); raise SystemExit(3)", "print('five')")

    assert run([broken, quiet]) == 1

    said = capfd.readouterr().out
    assert "broken: its output\nthree\nfour\nbroken: " in said
    assert "five" not in said
    assert "one" not in said
    assert re.search(r"quiet: \d+ s, \d+ s of a processor: two", said)
    assert "FAILED: broken" in said


def test_a_part_that_passed_prints_each_reason_of_skipped_tests_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    lines = (
        "SKIPPED [2] a.py:3: no Python 3.13: b",
        "SKIPPED [1] a.py: no Python 3.13: b",
        "SKIPPED [1] a.py:5: no Go",
    )

    assert run([part("quiet", *(f"print('..s'); print('{line}')" for line in lines))]) == 0

    said = capfd.readouterr().out
    assert "quiet: skipped 3: no Python 3.13: b\nquiet: skipped 1: no Go\n" in said
    assert "..s" not in said


def test_a_test_that_a_run_left_for_want_of_time_is_named_and_the_last_part_does_not_judge_without_it(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # It asks for a fixture, which must not begin either.
    test = tmp_path / "test_late.py"
    test.write_text("def test_late(no_such_fixture: None) -> None: ...\n", "utf-8")
    options = ("-q", "-ra", "-p", "tests.suite.time_limit", "-c", os.devnull, f"--rootdir={tmp_path}")
    over = ("env", f"{VARIABLE}=1", program("pytest"), *options, str(test))
    passed: list[Ended] = []

    assert run([Part("scenarios", (over,), shown=True)], 1, [part("policies", "")], passed.append) == 0

    said = capfd.readouterr().out
    assert "NOT BEGUN: 1 of test_late.py\n" in said
    assert "policies" not in said
    assert said.endswith(" of a processor; NOT BEGUN: 1 tests\n")
    assert [ended.whole for ended in passed] == [False]


def test_parts_run_beside_each_other_and_do_not_interleave(capfd: pytest.CaptureFixture[str]) -> None:
    slow = "import time; print('{0}', flush=True); time.sleep(0.3); print('{0}')"
    parts = [part(name, slow.format(name), shown=True) for name in ("left", "right")]

    assert run(parts, at_once=2) == 0

    said = capfd.readouterr().out
    assert "left\nleft\n" in said
    assert "right\nright\n" in said


def test_an_end_that_is_well_passes() -> None:
    assert run([part("nothing to run", "raise SystemExit(5)", well=(0, 5))]) == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_part_that_cannot_even_run_fails_the_suite() -> None:
    assert run([Part("nowhere", (("/nowhere/program",),))]) == 1


def test_the_sessions_run_every_part_but_those_with_a_target_of_their_own() -> None:
    left_to_a_long_run = {MACHINES, *LONG_SCENARIOS}
    assert {part for session in SESSIONS for part in session} == set(PARTS) - left_to_a_long_run - {BROWSER}


@pytest.mark.parametrize("part", LONG_SCENARIOS, ids=lambda part: part.name)
def test_a_part_of_the_long_run_has_no_short_test(part: Part) -> None:
    paths = [ROOT / path for path in part.tests]
    files = [file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])]
    assert files
    assert [
        file for file in files if "\npytestmark = pytest.mark.long\n" not in file.read_text("utf-8")
    ] == []
