"""A cache that cannot be written is told in one line, before anything is set up."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lamplighter.errors import BadInput
from local import cache_folder
from tests.checkout import ROOT


def test_a_home_that_cannot_be_written_says_where_what_and_what_would_be_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.write_text("a file")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    done = subprocess.run(
        [sys.executable, "-m", "local.cache_folder"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert f"{home}/.cache/lamplighter cannot be written (Not a directory)" in line
    assert "XDG_CACHE_HOME" in line


def test_a_folder_of_somebody_else_is_told_like_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # The superuser of a test may write everywhere.
    monkeypatch.setattr("os.access", lambda path, _: path != tmp_path / "lamplighter")

    with pytest.raises(
        BadInput, match=re.escape(f"{tmp_path}/lamplighter cannot be written (Permission denied)")
    ):
        cache_folder.cache_folder()
