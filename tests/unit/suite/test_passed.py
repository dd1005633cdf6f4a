"""A part that passed in a clean checkout is left out until its key changes; nothing else is."""

import subprocess
import sys
from pathlib import Path

import pytest

from local.cache_folder import cache_folder
from tests.suite import passed
from tests.suite.__main__ import AGAIN, play
from tests.suite.parts import Part
from tests.suite.running import NOT_IN_KEY


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed checkout with one text. The cache of the user is an empty one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(AGAIN, raising=False)
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "one.txt").write_text("one", "utf-8")
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *identity, *words), cwd=folder, check=True, capture_output=True)  # noqa: S607


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "a change")


@pytest.fixture
def runs(tmp_path: Path):
    """Plays a part in a checkout, and returns whether it ran."""
    ran = tmp_path / "ran"

    def play_once(folder: Path, more: str = "", **fields) -> bool:
        ran.unlink(missing_ok=True)
        program = f"open({str(ran)!r}, 'w').close(); {more}"
        play([[Part("texts", ((sys.executable, "-c", program),), reads=(".txt",), **fields)]], root=folder)
        return ran.exists()

    return play_once


def test_what_passed_is_left_out_and_said_with_its_time(checkout, runs, capfd) -> None:
    assert runs(checkout)
    assert not runs(checkout)

    said = capfd.readouterr().out
    assert f"texts: left out, it passed at {passed_at()}" in said
    assert f"{AGAIN}=1 runs it again" in said


def passed_at() -> str:
    (record,) = (cache_folder() / "passed").iterdir()
    done = passed.find(record.name)
    assert done is not None
    return done.at


def test_another_checkout_of_the_same_files_is_left_out_too(checkout, runs, tmp_path) -> None:
    assert runs(checkout)
    git(tmp_path, "clone", "--quiet", str(checkout), "other")

    assert not runs(tmp_path / "other")


def test_a_changed_byte_runs_it_and_the_byte_of_before_does_not(checkout, runs) -> None:
    assert runs(checkout)
    (checkout / "one.txt").write_text("two", "utf-8")
    commit(checkout)
    assert runs(checkout)
    git(checkout, "revert", "--no-edit", "HEAD")

    assert not runs(checkout)


def test_a_file_that_became_a_program_runs_it(checkout, runs) -> None:
    assert runs(checkout)
    (checkout / "one.txt").chmod(0o755)
    commit(checkout)

    assert runs(checkout)


def test_all_run_again_where_that_is_asked_for(checkout, runs, monkeypatch) -> None:
    assert runs(checkout)
    monkeypatch.setenv(AGAIN, "1")

    assert runs(checkout)


def test_a_failure_is_not_recorded(checkout, runs) -> None:
    assert runs(checkout, "raise SystemExit(1)")
    assert runs(checkout, "raise SystemExit(1)")


@pytest.mark.parametrize(
    "line", ["SKIPPED [1] tests/test_one.py:3: no Go", f"{NOT_IN_KEY}a test of one opened two.txt"]
)
def test_a_skipped_test_and_a_file_outside_of_the_key_record_nothing(checkout, runs, line: str) -> None:
    assert runs(checkout, f"print({line!r})")
    assert runs(checkout, f"print({line!r})")


def test_a_skipped_test_is_recorded_with_the_versions_of_what_it_wants(checkout, runs, tmp_path) -> None:
    version = tmp_path / "version"
    version.write_text("", "utf-8")
    skips = {
        "more": "print('SKIPPED [1] tests/test_one.py:3: no Go')",
        "versions": (("cat", str(version)),),
    }
    assert runs(checkout, **skips)
    assert not runs(checkout, **skips)
    version.write_text("go1.26", "utf-8")

    assert runs(checkout, **skips)


@pytest.mark.parametrize("file", ["one.txt", "new.md"])
def test_a_checkout_with_a_change_records_nothing(checkout, runs, file: str) -> None:
    (checkout / file).write_text("three", "utf-8")

    assert runs(checkout)
    assert runs(checkout)


@pytest.mark.parametrize("written", ["one", "other"])
def test_a_file_that_was_written_meanwhile_is_not_recorded(checkout, runs, written: str) -> None:
    """Also where it has the same bytes: in between it may have had others."""
    change = f"open({str(checkout / 'one.txt')!r}, 'w').write({written!r})"

    assert runs(checkout, change)
    assert runs(checkout, change)


def test_a_folder_without_git_always_runs(tmp_path, runs, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "sources").mkdir()

    assert runs(tmp_path / "sources")
    assert runs(tmp_path / "sources")


@pytest.mark.parametrize("text", ["", "{", '{"part": "texts"}', "[]"])
def test_a_record_that_cannot_be_read_counts_as_none(checkout, runs, text: str) -> None:
    assert runs(checkout)
    (record,) = (cache_folder() / "passed").iterdir()
    record.write_text(text, "utf-8")

    assert runs(checkout)
    assert not runs(checkout)


def test_what_it_left_for_later_parts_is_there_again(checkout, runs, tmp_path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    leave = f"open({str(made / 'judged.json')!r}, 'w').write('all')"
    assert runs(checkout, leave, makes=made)
    (made / "judged.json").unlink()
    (made / "of-another-run.json").write_text("none", "utf-8")

    assert not runs(checkout, leave, makes=made)
    assert {file.name: file.read_text("utf-8") for file in made.iterdir()} == {"judged.json": "all"}


def test_old_records_are_removed(checkout, runs, monkeypatch) -> None:
    monkeypatch.setattr(passed, "KEPT", 2)
    for text in ("two", "three", "four"):
        (checkout / "one.txt").write_text(text, "utf-8")
        commit(checkout)
        assert runs(checkout)

    assert len(list((cache_folder() / "passed").iterdir())) == 2
    assert not runs(checkout)
