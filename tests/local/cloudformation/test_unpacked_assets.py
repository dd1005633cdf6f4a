"""Code and layers lie before a function as their archives give them, and run at a bytecode's speed on any Python."""

import importlib.util
import os
import stat
import sys
from pathlib import Path

import pytest

from local.aws.functions.runnable_layer import has_packages, runnable
from local.aws.functions.unpacked_files import as_unpacked

OTHER = "cpython-300"
THE_EIGHTIES = 315532800


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_files_are_old_and_nobody_may_write_them(tmp_path):
    written(tmp_path / "asset" / "handlers" / "guard.py", "x = 1")
    program = written(tmp_path / "asset" / "bin" / "tool")
    program.chmod(0o755)

    folder = as_unpacked(tmp_path / "asset", tmp_path / "task")

    assert files(folder) == {"handlers/guard.py", "bin/tool"}
    for path in (folder / "handlers" / "guard.py", folder / "bin" / "tool"):
        assert path.stat().st_mtime == THE_EIGHTIES
        assert not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    assert os.access(folder / "bin" / "tool", os.X_OK)


def test_a_layer_without_bytecode_gets_none_here_either(tmp_path):
    written(tmp_path / "layer" / "python" / "package" / "__init__.py", "x = 1")
    found = runnable(tmp_path / "layer")
    assert files(found) == {"package/__init__.py"}


def test_a_layer_with_another_pythons_bytecode_gets_this_ones_beside_it(tmp_path):
    written(tmp_path / "layer" / "python" / "package" / "__init__.py", "x = 1")
    written(tmp_path / "layer" / "python" / "package" / "bare.py", "x = 1")
    written(tmp_path / "layer" / "python" / "package" / "__pycache__" / f"__init__.{OTHER}.pyc")

    found = runnable(tmp_path / "layer")

    ours = found / "package" / "__pycache__" / f"__init__.{sys.implementation.cache_tag}.pyc"
    assert ours.read_bytes()[:8] == importlib.util.MAGIC_NUMBER + (0b01).to_bytes(4, "little")
    assert not list(found.rglob("bare.*.pyc"))


def test_a_layer_of_programs_has_no_packages(tmp_path):
    written(tmp_path / "layer" / "kubectl" / "kubectl")
    assert not has_packages(tmp_path / "layer")
