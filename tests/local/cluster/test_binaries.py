"""Where the control plane's programs are taken from, and what is said when they cannot be had."""

import subprocess
import sys

import pytest

from lamplighter.errors import BadInput, OutsideFailed
from local.kubernetes.binaries import ASSET_VARIABLES, PROGRAMS, VERSION, cache_folder, find_programs


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    for variable in ASSET_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def fill(folder):
    folder.mkdir(parents=True)
    for program in PROGRAMS:
        (folder / program).touch()
    return folder


def fake_go(folder, monkeypatch, build: str) -> None:
    """A `go` that says it is new enough and builds as told."""
    folder.mkdir()
    program = folder / "go"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = version ]; then echo go version go1.26.8 linux/amd64; exit; fi\n{build}\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_folder_that_the_user_names_comes_first(tmp_path, monkeypatch):
    fill(cache_folder() / VERSION)
    named = fill(tmp_path / "named")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(named))
    assert find_programs(print) == named


def test_a_named_folder_without_the_programs_is_bad_input(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(BadInput, match=r"KUBEBUILDER_ASSETS=.*kube-apiserver"):
        find_programs(print)


def test_the_cache_comes_next():
    cached = fill(cache_folder() / VERSION)
    assert find_programs(print) == cached


def test_a_build_says_once_why_it_takes_minutes_and_leaves_all_four_programs(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, 'while [ "$1" != -o ]; do shift; done; echo built > "$2"')
    said: list[str] = []
    programs = find_programs(said.append)
    assert [(programs / program).read_text() for program in PROGRAMS] == ["built\n"] * 4
    assert sum("about four minutes" in line for line in said) == 1
    # nothing half-written stays behind, and what was fetched for the build is gone
    assert sorted(path.name for path in programs.parent.iterdir()) == ["build.lock", VERSION]


def test_a_build_that_fails_says_what_it_said(tmp_path, monkeypatch):
    fake_go(tmp_path / "bin", monkeypatch, "echo no space left on device; exit 1")
    with pytest.raises(OutsideFailed, match="no space left on device"):
        find_programs(lambda _: None)
    assert not (cache_folder() / VERSION).exists()


def test_they_can_be_had_before_anything_needs_them(tmp_path, monkeypatch):
    # as `make control-plane` does, so that no test waits for the build
    fake_go(tmp_path / "bin", monkeypatch, 'while [ "$1" != -o ]; do shift; done; echo built > "$2"')
    command = [sys.executable, "-m", "local.kubernetes.binaries"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "about four minutes" in done.stdout
    assert (cache_folder() / VERSION / "kube-apiserver").read_text() == "built\n"

    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"KUBEBUILDER_ASSETS={tmp_path}: etcd")
