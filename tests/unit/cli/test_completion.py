"""A shell completes verbs, options and the names last seen, without calling AWS."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli import known_names
from tests.programs import lamplighter
from tests.steady.hang import HANG_SECONDS

NAMES = {
    "- ap-northeast-2 - -": {"pools": ["gpu", "big"], "windows": ["evening"], "leases": ["cli-1a2b3c4d"]}
}


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    """A shell that has seen the lab's names and cannot reach AWS."""
    (tmp_path / "names.json").write_text(json.dumps(NAMES), "utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    own = {
        "HOME": str(tmp_path),
        "AWS_REGION": "ap-northeast-2",
        "LAMPLIGHTER_NAMES": str(tmp_path / "names.json"),
    }
    return kept | own


def completed(line: str, settings: dict[str, str]) -> list[str]:
    """The completions that bash gets after this line."""
    words = line.split(" ")
    asked = {"_LAMPLIGHTER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = lamplighter(env=settings | asked)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("lamplighter ext", ["extend"]),
        ("lamplighter close ", ["gpu", "big", "cli-1a2b3c4d"]),
        ("lamplighter status b", ["big"]),
        ("lamplighter skip ", ["evening"]),
        ("lamplighter experiment res", ["restore"]),
        ("lamplighter experiment run nccl-", ["nccl-blocked"]),
        ("lamplighter close --wa", ["--wait"]),
    ],
)
def test_bash_offers_what_can_follow(line: str, offered: list[str], settings: dict[str, str]) -> None:
    assert completed(line, settings) == offered


def test_bash_itself_asks_the_program(settings: dict[str, str]) -> None:
    program = Path(sys.executable).with_name("lamplighter")
    script = lamplighter("completion", "bash", env=settings).stdout
    asks = (
        f"{script}\nCOMP_WORDS=(lamplighter close '')\nCOMP_CWORD=2\n"
        f'_lamplighter_completion {program}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    )

    bash = ["/bin/bash", "-c", asks]
    done = subprocess.run(
        bash, env=settings, capture_output=True, text=True, check=False, timeout=HANG_SECONDS
    )

    assert (done.stdout.split(), done.stderr) == (["gpu", "big", "cli-1a2b3c4d"], "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_answered_too(shell: str, settings: dict[str, str]) -> None:
    asked = {
        "_LAMPLIGHTER_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": "lamplighter windows ",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }

    done = lamplighter(env=settings | asked)

    assert (done.returncode, done.stderr) == (0, "")
    assert "gpu" in done.stdout
    assert "big" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_program(shell: str, settings: dict[str, str]) -> None:
    done = lamplighter("completion", shell, env=settings)
    assert done.returncode == 0
    assert f"complete_{shell}" in done.stdout


@pytest.mark.parametrize("kept", ["{", "[]", '{"- ap-northeast-2 - -": {"pools": [1]}}'])
def test_names_that_cannot_be_read_are_none(kept: str, settings: dict[str, str]) -> None:
    Path(settings["LAMPLIGHTER_NAMES"]).write_text(kept, "utf-8")
    assert completed("lamplighter close ", settings) == []


def test_names_are_kept_by_region(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAMPLIGHTER_NAMES", str(tmp_path / "deep" / "names.json"))
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    known_names.note("pools", ["gpu"])
    assert known_names.pools("") == ["gpu"]
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert known_names.pools("") == []


def test_where_nothing_can_be_kept_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMPLIGHTER_NAMES", "/proc/none/names.json")
    known_names.note("pools", ["gpu"])
    assert known_names.pools("") == []
